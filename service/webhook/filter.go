package webhook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/rehearsal"
)

// Terms are the names that a filter knows, each with an example.
func Terms() []string {
	return []string{"verdict:rejected", "from:192.0.2.", "job:job-3", "dataset:gd_products", "since:2h"}
}

// ParseFilter parses what an operator types: words that must all occur, and Terms. The beginning of
// a verdict, an address or a data set is enough; job:- means no job; for since see
// rehearsal.ParseSince. An address counts as a word.
func ParseFilter(s string, now time.Time) (f model.HookFilter, err error) {
	for term := range strings.FieldsSeq(s) {
		name, value, isTerm := strings.Cut(term, ":")
		switch {
		case !isTerm || strings.HasPrefix(value, "//"):
			f.Words = append(f.Words, term)
			continue
		case value == "":
			return f, fmt.Errorf("%s: needs a value, as in %s", name, strings.Join(Terms(), ", "))
		}
		switch name {
		case "verdict":
			f.Verdict, err = parseVerdict(value)
		case "from":
			f.From = value
		case "job":
			f.Job = value
		case "dataset":
			f.Dataset = strings.ToLower(value)
		case "since":
			f.Since, err = rehearsal.ParseSince(value, now)
		default:
			err = fmt.Errorf("unknown term %q: use words and %s", name, strings.Join(Terms(), ", "))
		}
		if err != nil {
			return model.HookFilter{}, err
		}
	}
	return f, nil
}

func parseVerdict(value string) (model.HookVerdict, error) {
	verdicts := []model.HookVerdict{model.HookPending, model.HookVerified, model.HookUnverified, model.HookRejected}
	i := slices.IndexFunc(verdicts, func(v model.HookVerdict) bool { return strings.HasPrefix(string(v), strings.ToLower(value)) })
	if i < 0 {
		return "", fmt.Errorf("verdict %q is not one of %s, %s, %s, %s", value, verdicts[0], verdicts[1], verdicts[2], verdicts[3])
	}
	return verdicts[i], nil
}
