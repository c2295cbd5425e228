package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flagsShown is how many flags of optimizer_switch a sentence names.
const flagsShown = 4

// knownFlags compares two values of optimizer_switch, or the parts of them that differ,
// flag by flag. Flags that one side does not have count only if the other has them on.
func knownFlags(base, candidate string) (string, int) {
	b, c := flags(base), flags(candidate)
	all := maps.Clone(b)
	maps.Copy(all, c)
	var parts []string
	weight, unknown, foreign := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, inBase := b[name]
		is, inCandidate := c[name]
		if was == is || name == "default" {
			continue
		}
		if !inBase || !inCandidate {
			if was == "on" || is == "on" {
				foreign++
			}
			continue
		}
		if weight == 0 {
			weight = seldom
		}
		why := flagFact(name)
		if why == "" {
			unknown++
			continue
		}
		weight = often
		parts = append(parts, fmt.Sprintf("%s is %s, was %s: %s", name, is, was, why))
	}
	return flagSentence(parts, unknown, foreign), max(weight, min(foreign, seldom))
}

func flagSentence(parts []string, unknown, foreign int) string {
	if n := len(parts); n > flagsShown {
		unknown += n - flagsShown
		parts = parts[:flagsShown]
	}
	if unknown > 0 {
		parts = append(parts, fmt.Sprintf("%s more", count(unknown, "flag")))
	}
	if foreign > 0 {
		parts = append(parts, fmt.Sprintf("%s on that the other side does not have", count(foreign, "flag")))
	}
	return strings.Join(parts, "; ")
}

// flags reads name=on,name=off.
func flags(value string) map[string]string {
	out := map[string]string{}
	for f := range strings.SplitSeq(value, ",") {
		if name, v, ok := strings.Cut(strings.TrimSpace(f), "="); ok {
			out[name] = strings.ToLower(v)
		}
	}
	return out
}

// flagFact says what a flag of optimizer_switch lets the optimizer do; "" if that is not
// known, or nothing for the engines here.
func flagFact(name string) string {
	switch name {
	case "index_merge", "index_merge_union", "index_merge_sort_union", "index_merge_intersection", "index_merge_sort_intersection":
		return "several indexes of one table are read and merged"
	case "index_condition_pushdown":
		return "conditions on columns of the index are checked before the row is fetched"
	case "mrr", "mrr_sort_keys":
		return "rows that an index found are fetched in the order of their keys"
	case "mrr_cost_based":
		return "whether fetching rows in order pays is estimated, not taken for granted"
	case "block_nested_loop", "join_cache_incremental", "outer_join_with_cache", "semijoin_with_cache":
		return "rows are joined in blocks through a join buffer"
	case "hash_join", "join_cache_hashed":
		return "tables without a useful index are joined by a hash table"
	case "batched_key_access", "join_cache_bka":
		return "lookups of a join are sent to the engine in batches"
	case "materialization", "in_to_exists", "subquery_materialization_cost_based", "partial_match_rowid_merge", "partial_match_table_scan":
		return "how IN subqueries are executed: stored once, or run for each row"
	case "semijoin", "loosescan", "firstmatch", "duplicateweedout":
		return "IN and EXISTS subqueries become joins"
	case "exists_to_in", "subquery_to_derived":
		return "subqueries are rewritten into another form"
	case "subquery_cache":
		return "results of subqueries are kept by their arguments"
	case "derived_merge":
		return "derived tables and views become part of the outer query"
	case "derived_with_keys":
		return "stored derived tables get an index"
	case "extended_keys", "use_index_extensions":
		return "columns of the primary key at the end of a secondary index are used"
	case "condition_fanout_filter":
		return "estimates of rows count conditions that no index serves"
	case "skip_scan":
		return "an index is used though its first column has no condition"
	case "prefer_ordering_index":
		return "for ORDER BY with LIMIT an index in that order is preferred to one that finds the rows"
	case "rowid_filter":
		return "rows of one index are filtered by a list of row ids from another"
	case "split_materialized", "condition_pushdown_for_derived", "condition_pushdown_for_subquery", "condition_pushdown_from_having", "derived_condition_pushdown":
		return "conditions are applied inside derived tables and subqueries"
	case "orderby_uses_equalities":
		return "columns that are equal by a condition count as sorted"
	case "table_elimination":
		return "tables that no column is needed of are not read"
	case "not_null_range_scan":
		return "ranges are made from conditions that exclude NULL"
	case "hash_join_cardinality", "optimize_join_buffer_size":
		return "estimates of joins with a buffer change, and with them the order of tables"
	case "hypergraph_optimizer":
		return "another join optimizer chooses the plans"
	case "use_invisible_indexes":
		return "indexes that are marked invisible are used"
	case "hash_set_operations":
		return "INTERSECT and EXCEPT use a hash table, not a temporary table's index"
	case "cset_narrowing":
		return "an index serves comparisons of utf8mb3 columns with utf8mb4 values"
	case "sargable_casefold":
		return "conditions on UPPER(column) can use an index"
	}
	return ""
}
