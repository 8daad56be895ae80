package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/rehearsal"
)

// ParseFilter parses what is typed after "/": words that must all occur, and the
// terms class:, zone:, key:, kind:, profile:, by: and since:. since takes a duration before now
// ("90m", "2h", "3d", "1w") or a date ("2026-11-20", in now's location). The
// empty string matches everything.
func ParseFilter(s string, now time.Time) (model.ActivityFilter, error) {
	var f model.ActivityFilter
	for term := range strings.FieldsSeq(s) {
		name, value, ok := strings.Cut(term, ":")
		if !ok || strings.HasPrefix(value, "//") { // an address is a search word
			f.Words = append(f.Words, term)
			continue
		}
		if value == "" {
			return f, fmt.Errorf("%s: needs a value, as in %s", name, example(name))
		}
		if err := apply(&f, name, value, now); err != nil {
			return f, err
		}
	}
	return f, nil
}

func apply(f *model.ActivityFilter, name, value string, now time.Time) error {
	switch name {
	case "class":
		c, err := parseClass(value)
		if err != nil {
			return err
		}
		f.Class = c
	case "kind":
		k := model.ActivityKind(value)
		if !slices.Contains(kinds(), k) {
			return fmt.Errorf("kind %q is not one of %s", value, join(kinds()))
		}
		f.Kind = k
	case "zone":
		f.Zone = value
	case "key":
		f.Key = value
	case "profile":
		f.Profile = value
	case "by":
		if !slices.Contains(model.Sources(), value) {
			return fmt.Errorf("by %q is not one of %s: what you do yourself has no mark", value, join(model.Sources()))
		}
		f.Source = value
	case "since":
		t, err := rehearsal.ParseSince(value, now)
		if err != nil {
			return err
		}
		f.Since = t
	default:
		return fmt.Errorf("unknown term %q: use class:, zone:, key:, kind:, profile:, by: with agent or rotation, or since: with a time", name)
	}
	return nil
}

func kinds() []model.ActivityKind {
	return []model.ActivityKind{model.ActivityFetch, model.ActivityTwin, model.ActivityProbe, model.ActivityJob, model.ActivityKey, model.ActivityAgent, model.ActivityHook}
}

// parseClass parses a class as JSON spells it, with "-" or "_". An unambiguous
// prefix is enough.
func parseClass(s string) (model.Class, error) {
	want := strings.ReplaceAll(strings.ToLower(s), "-", "_")
	var found []model.Class
	for _, c := range model.Classes() {
		if string(c) == want {
			return c, nil
		}
		if strings.HasPrefix(string(c), want) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", fmt.Errorf("class %q is not one of %s", s, join(model.Classes()))
}

func example(name string) string {
	values := map[string]string{"class": "captcha", "zone": "unlocker_demo", "key": "batch-user", "kind": "fetch", "profile": "local", "by": model.SourceAgent, "since": "2h"}
	return name + ":" + cmp.Or(values[name], "value")
}

func join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
