"""Random changes of the two sources: several statements a step, so that windows span them."""

from __future__ import annotations

import random

SEED = 4
REGIONS = ("'north'", "'south'", "'east'", "null")

# What chance may leave out: rows of both tables that come, go and are others, the only NULL of a NOT IN that goes,
# doubles that cannot be subtracted (NaN, 1e16, −0.0) that go; then an emptied table beside one that grows.
FIRST = (
    (
        "update {orders} set customer = null where id <= 2",
        "delete from {orders} where id in (3, 4)",
        "insert into {orders} values (5, 3, 'south', 12, 4.25, 'y', double('NaN'))",
        "insert into {orders} values (6, 2, 'east', null, null, '', 1.5D)",
        "delete from {customers} where customer is null or customer = 1",
        "insert into {customers} values (3, 'cy', 'b'), (1, 'ann', 'c')",
        "update {customers} set tier = 'c' where name = 'bob'",
    ),
    (
        "truncate table {orders}",
        "insert into {customers} values (4, 'dan', 'b')",
    ),
)


def change(rng: random.Random) -> list[str]:
    return [rng.choice(_KINDS)(rng) for _ in range(rng.randint(1, 3))]


def _order(rng: random.Random) -> str:
    amount = rng.choice(["null", str(rng.randint(-3, 12))])
    price = rng.choice(["null", f"{rng.randint(-5, 5)}.25"])
    note = rng.choice(["null", "'x'", "'y'", "''"])
    weight = rng.choice(["null", "0D", "double('-0.0')", "double('NaN')", "1e16D", "1.5D"])
    return f"({rng.randint(1, 6)}, {_customer(rng)}, {rng.choice(REGIONS)}, {amount}, {price}, {note}, {weight})"


def _customer(rng: random.Random) -> str:
    return rng.choice(["1", "2", "3", "null"])


def _insert(rng: random.Random) -> str:
    return f"insert into {{orders}} values {', '.join(_order(rng) for _ in range(rng.randint(1, 4)))}"


def _delete(rng: random.Random) -> str:
    return f"delete from {{orders}} where id = {rng.randint(1, 6)}"


def _update(rng: random.Random) -> str:
    column, value = rng.choice(
        [("amount", "amount + 1"), ("amount", "null"), ("region", rng.choice(REGIONS)), ("customer", _customer(rng)),
         ("price", "price * 2"), ("note", "note")]
    )  # fmt: skip
    return f"update {{orders}} set {column} = {value} where id <= {rng.randint(1, 6)}"


def _merge(rng: random.Random) -> str:
    return (
        f"merge into {{orders}} t using (select {rng.randint(1, 8)} as k) s on t.id = s.k "
        "when matched and t.amount > 5 then delete when matched then update set t.amount = 9 "
        f"when not matched then insert (id, customer, region, amount, price, note, weight) values {_order(rng)}"
    )


def _move_customers(rng: random.Random) -> str:
    return rng.choice(
        [
            f"insert into {{customers}} values ({_customer(rng)}, 'new', 'a')",
            f"update {{customers}} set tier = 'b' where customer = {rng.randint(1, 3)}",
            f"delete from {{customers}} where customer = {rng.randint(1, 3)}",
        ]
    )


def _overwrite(rng: random.Random) -> str:
    return f"insert overwrite {{orders}} values {_order(rng)}, {_order(rng)}"


def _empty(rng: random.Random) -> str:
    return rng.choice(["truncate table {orders}", "delete from {orders}", "optimize {orders}"])


_KINDS = (_insert, _insert, _delete, _update, _update, _merge, _move_customers, _overwrite, _empty)
