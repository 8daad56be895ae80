package view

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// agents are what the tools for agents take and give, and lines the objects of commands that print one a line.
var (
	agents = []any{
		AgentBatch{},
		AgentComparison{},
		AgentDatasets{},
		AgentDiagnosis{},
		AgentFetch{},
		AgentFinding{},
		AgentJob{},
		AgentJobs{},
		AgentKeys{},
		AgentZones{},
		History{},
		BatchPauseArgs{},
		BatchShowArgs{},
		BatchStartArgs{},
		CompareArgs{},
		DatasetsArgs{},
		DiagnoseArgs{},
		FetchArgs{},
		HistoryArgs{},
		HistoryFetchArgs{},
		JobsDownloadArgs{},
		JobsLaunchArgs{},
		JobsListArgs{},
		JobsWatchArgs{},
		KeysCheckArgs{},
		ZonesArgs{},
	}
	lines = []any{BatchResult{}, BatchDuplicate{}, Listening{}}
)

// units may end a name in JSON whose Go field is a duration or has no unit in its name.
var units = regexp.MustCompile(`_(ms|seconds|days)$`)

// TestAFieldHasOneName compares each field's name in JSON with its name in Go, in every type that is printed: one word
// for one thing, wherever it is read.
func TestAFieldHasOneName(t *testing.T) {
	printed := map[string]bool{}
	for _, page := range pages {
		checkNames(t, reflect.TypeOf(page.value), printed)
	}
	for _, value := range append(agents, lines...) {
		checkNames(t, reflect.TypeOf(value), printed)
	}
	files, err := filepath.Glob("*.go")
	noerr.Must(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		noerr.Must(t, err)
		for _, found := range regexp.MustCompile(`(?m)^type (\w+) struct`).FindAllSubmatch(source, -1) {
			if name := string(found[1]); !printed["view."+name] {
				t.Errorf("no object that is listed in pages, agents or lines has a %s (%s)", name, file)
			}
		}
	}
}

// checkNames compares the names of a type's fields, and of the types within it.
func checkNames(t *testing.T, typ reflect.Type, checked map[string]bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || checked[typ.String()] || typ.PkgPath() == "time" {
		return
	}
	checked[typ.String()] = true
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		checkNames(t, f.Type, checked)
		if f.Anonymous {
			continue
		}
		if !isSnake(name, f.Name) && !isSnake(units.ReplaceAllString(name, ""), f.Name) {
			t.Errorf("%s.%s is %q in JSON", typ, f.Name, name)
		}
	}
}

// isSnake reports whether name is a Go field's name in snake case; the initialisms in one are words of their own.
func isSnake(name, field string) bool {
	return name == strings.ToLower(name) && strings.EqualFold(strings.ReplaceAll(name, "_", ""), field)
}
