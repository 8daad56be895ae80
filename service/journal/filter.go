package journal

import (
	"time"

	"zonedeck/model"
	"zonedeck/service/query"
)

// fields is what the entries of the history can be asked.
func fields(now time.Time) query.Fields[model.HistoryEntry] {
	kinds := []model.HistoryKind{model.HistoryFetch, "comparison", model.HistoryProbe, model.HistoryJob, model.HistoryKey, model.HistoryAgent, model.HistoryWebhook, model.HistoryBatch}
	const source = "coalesce((SELECT source FROM activity_sources WHERE activity_sources.id = activity.id), '')"
	text := func(of func(model.HistoryEntry) string) func(model.HistoryEntry) []string {
		return func(a model.HistoryEntry) []string { return []string{of(a)} }
	}
	return query.Fields[model.HistoryEntry]{
		query.SearchText(searchText),
		query.Enum("class", "captcha", texts(model.Classes()), text(func(a model.HistoryEntry) string { return string(a.Class) })).In("activity.class"),
		query.List("zone", "unlocker_demo", text(func(a model.HistoryEntry) string { return a.Zone })).In("activity.zone"),
		query.List("key", "batch-user", text(func(a model.HistoryEntry) string { return a.Key })).In("activity.key"),
		query.Enum("kind", "fetch", texts(kinds), text(func(a model.HistoryEntry) string { return a.Kind.Word() })).In("replace(activity.kind, 'twin', 'comparison')"),
		query.List("profile", "local", text(func(a model.HistoryEntry) string { return a.Profile })).In("activity.profile"),
		query.Enum("by", model.SourceAgent, model.Sources(), text(func(a model.HistoryEntry) string { return a.Source })).In(source),
		query.Since(func(a model.HistoryEntry) time.Time { return a.At }, func(model.HistoryEntry) time.Time { return now }).In("+at"),
	}
}

// ParseFilter reads what an operator types. What the indices of the history know has its field in the filter; the rest
// are clauses.
func ParseFilter(text string, now time.Time) (f model.HistoryFilter, err error) {
	q, err := query.Parse(text, fields(now))
	for _, t := range q.Terms() {
		clause, args, _ := q.SQL(t)
		switch field := indexed(&f, t, args); {
		case t.Op == query.Says && t.Not:
			f.Clauses, f.Args = append(f.Clauses, "instr(activity.words, ?) = 0"), append(f.Args, []any{clean(t.Value)})
		case t.Op == query.Says:
			f.Words = append(f.Words, t.Value)
		case t.Name == "since" && !t.Not && t.Op == query.Contains && f.Since.IsZero():
			f.Since, err = model.ParseSince(t.Value, now)
		case field != nil:
			*field = args[0].(string) //nolint:forcetypeassert // of a text
		default:
			f.Clauses, f.Args = append(f.Clauses, clause), append(f.Args, args)
		}
	}
	if f.Kind == "comparison" {
		f.Kind = model.HistoryComparison
	}
	return f, err
}

// indexed is the place of the one value that a term asks for; nil where it asks otherwise, or the place is taken.
func indexed(f *model.HistoryFilter, t query.Term, args []any) *string {
	place := map[string]*string{
		"class": (*string)(&f.Class), "kind": (*string)(&f.Kind), "zone": &f.Zone, "key": &f.Key, "profile": &f.Profile, "by": &f.Source,
	}[t.Name]
	if place == nil || *place != "" || t.Not || t.Op == query.Has || len(args) != 1 {
		return nil
	}
	return place
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
