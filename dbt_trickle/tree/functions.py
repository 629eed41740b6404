"""The functions that may stand in a maintained query, by the name Spark knows them under.

Each is determined by its arguments alone, under the session's settings. Not here, though harmless to look at: struct()
and arrays_zip(), which name their fields after the columns that they are given (binding.py); aes_encrypt(), which
draws a random vector; kll_sketch_merge_…(), which drop random halves; collate(), since of texts that are equal under a
collation either may stand for a group; raise_error() and assert_true(), which a refresh would ask of other rows;
version(); and what reads other files than the sources (from_avro(), from_protobuf()). TIME is no type in Spark 4.1.4.
"""

from __future__ import annotations

# Aggregates that give the same value of the same rows, in whatever order they come. sum() and avg() do so by their
# argument's type.
_SAME_AGAIN = """any approx_count_distinct bit_and bit_or bit_xor bool_and bool_or count count_if every max median min
    percentile percentile_cont percentile_disc some"""
# Those of which Spark itself may give another value where rows come in another order.
_ORDERED = """any_value approx_percentile array_agg collect_list collect_set first first_value histogram_numeric last
    last_value listagg max_by min_by mode percentile_approx string_agg"""
# Sums of doubles: nearly the same.
_NEARLY = """corr covar_pop covar_samp kurtosis regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy skewness std stddev stddev_pop stddev_samp try_avg try_sum var_pop var_samp variance"""
# Sketches, and what reads them: their bytes depend on the order as well, and a group is read anew in any case.
_SKETCHES = """approx_top_k approx_top_k_accumulate approx_top_k_combine
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    count_min_sketch hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float schema_of_variant_agg theta_intersection_agg
    theta_sketch_agg theta_union_agg"""
SAME_AGAIN = frozenset(_SAME_AGAIN.split())
SKETCHES = frozenset(_SKETCHES.split())
ORDERED = frozenset(_ORDERED.split()) | SKETCHES
BY_ORDER = frozenset(f"{_ORDERED} {_NEARLY}".split())
AGGREGATES = {
    **{name: name for name in f"sum avg {_SAME_AGAIN} {_ORDERED} {_NEARLY} {_SKETCHES}".split()},
    "mean": "avg",
}
GENERATORS = frozenset("explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple".split())
# Over a window only. Ranks are the same for rows that ORDER BY takes for equal.
RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
POSITIONS = frozenset({"row_number", "ntile", "lag", "lead", "nth_value"})
OVER_WINDOWS = RANKS | POSITIONS | frozenset(AGGREGATES)
# Made of the groups themselves.
OF_GROUPING_SETS = frozenset({"grouping", "grouping_id"})

_STRINGS = """ascii base64 bin bit_length btrim char char_length character_length chr collation concat concat_ws
    contains decode elt encode endswith find_in_set format_number format_string hex ilike initcap instr is_valid_utf8
    lcase left len length levenshtein like locate lower lpad ltrim luhn_check make_valid_utf8 mask octet_length overlay
    position printf quote regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace
    regexp_substr repeat replace reverse right rlike rpad rtrim sentences soundex space split split_part startswith
    substr substring substring_index to_binary to_char to_number to_varchar translate trim try_to_binary try_to_number
    try_validate_utf8 ucase unbase64 unhex upper validate_utf8"""
_DATES = """add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub
    date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear from_unixtime from_utc_timestamp
    hour last_day make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz
    make_ym_interval minute month monthname months_between next_day quarter second timestamp_micros timestamp_millis
    timestamp_seconds timestampadd timestampdiff to_date to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_utc_timestamp trunc try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_to_date try_to_timestamp unix_date unix_micros unix_millis unix_seconds unix_timestamp
    weekday weekofyear year"""
_NUMBERS = """abs acos acosh asin asinh atan atan2 atanh bit_count bit_get bround cbrt ceil ceiling conv cos cosh cot
    csc degrees e exp expm1 factorial floor getbit greatest hypot least ln log log10 log1p log2 mod negative pi pmod
    positive pow power radians rint round sec shiftleft shiftright shiftrightunsigned sign signum sin sinh sqrt tan
    tanh try_add try_divide try_mod try_multiply try_subtract width_bucket"""
_NULLS = "coalesce equal_null ifnull isnan isnotnull isnull nanvl nullif nullifzero nvl nvl2 zeroifnull"
_CASTS = "bigint binary boolean date decimal double float int smallint string timestamp tinyint"
_HASHES = "crc32 hash md5 sha sha1 sha2 xxhash64"
_COLLECTIONS = """array array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat array_size
    array_union arrays_overlap arrays_zip cardinality element_at flatten get map map_concat map_contains_key map_entries
    map_from_arrays map_from_entries map_keys map_values named_struct sequence size slice sort_array str_to_map
    try_element_at"""
_DOCUMENTS = """from_csv from_json from_xml get_json_object is_variant_null json_array_length json_object_keys
    parse_json parse_url schema_of_csv schema_of_json schema_of_variant schema_of_xml to_csv to_json to_variant_object
    to_xml try_parse_json try_parse_url try_url_decode try_variant_get url_decode url_encode variant_get xpath
    xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string"""
# What is read of sketches, and made of two of them.
_OF_SKETCHES = """approx_top_k_estimate bitmap_bit_position bitmap_bucket_number bitmap_count hll_sketch_estimate
    hll_union kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint
    kll_sketch_get_quantile_double kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
    kll_sketch_get_rank_float kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float
    theta_difference theta_intersection theta_sketch_estimate theta_union"""
_OTHERS = "aes_decrypt try_aes_decrypt typeof"

_ALL = (_STRINGS, _DATES, _NUMBERS, _NULLS, _CASTS, _HASHES, _COLLECTIONS, _DOCUMENTS, _OF_SKETCHES, _OTHERS)
SCALARS = frozenset(" ".join(_ALL).split())
OF_LAMBDAS = frozenset(
    """aggregate array_sort exists filter forall map_filter map_zip_with reduce transform transform_keys
    transform_values zip_with""".split()
)
# Without an argument they are the present moment.
NEED_AN_ARGUMENT = frozenset({"unix_timestamp", "to_unix_timestamp"})
# With three arguments the first one is a unit: a keyword, not a column.
UNIT_FIRST = frozenset({"dateadd", "date_add", "datediff", "date_diff", "timestampadd", "timestampdiff"})
