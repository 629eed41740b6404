from dbt.adapters.base import AdapterPlugin

from dbt.adapters.trickle.connections import TrickleConnectionManager  # noqa: F401
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.impl import TrickleAdapter
from dbt.include import trickle

Plugin = AdapterPlugin(
    adapter=TrickleAdapter,  # type: ignore[arg-type]
    credentials=TrickleCredentials,
    include_path=trickle.PACKAGE_PATH,
    dependencies=["spark"],
)
