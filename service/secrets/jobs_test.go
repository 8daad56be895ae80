package secrets

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"
)

// asked are references of jobs in a file, as the ledger keeps them.
type asked struct{ ring }

func (a asked) AuthUses(context.Context) (out []model.AuthUse, err error) {
	err = a.with(func(e map[string]string) error {
		for _, job := range slices.Sorted(maps.Keys(e)) {
			state := model.JobDownloaded
			if job == "job-2" {
				state = model.JobRunning
			}
			out = append(out, model.AuthUse{Ref: e[job], Job: job, State: state})
		}
		return nil
	})
	return out, err
}

func (a asked) SwitchAuth(_ context.Context, from, to string) error {
	return a.with(func(e map[string]string) error {
		for job, ref := range e {
			if ref == from {
				e[job] = to
			}
		}
		return nil
	})
}

// askedFor are the references of jobs: one of them stands nowhere else, one of them only ended jobs have.
const askedFor = `{"job-1":"keyring:hooks/auth","job-2":"keyring:hooks/auth","job-3":"keyring:hooks/auth","job-4":"keyring:hooks/auth","job-5":"file:z2","job-6":"keyring:hooks/old"}`

func TestReferencesOfJobsAreListed(t *testing.T) {
	f, _ := prepared(t)
	uses, err := Uses(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]Use{
		"keyring:hooks/auth": {Uses: []string{"job-2 (running), job-1 (downloaded), job-3 (downloaded) and 1 more: Authorization header of its delivery"}},
		"keyring:hooks/old":  {Uses: []string{"job-6 (downloaded): Authorization header of its delivery"}, Past: true},
		"file:z2":            {Uses: []string{"profile acme, zone z2", "job-5 (downloaded): Authorization header of its delivery"}},
	} {
		want.Ref = ref
		if i := slices.IndexFunc(uses, func(u Use) bool { return u.Ref == ref }); i < 0 || !reflect.DeepEqual(uses[i], want) {
			t.Errorf("%s: %+v", ref, uses)
		}
	}
	var used *UsedError
	if err := Remove(t.Context(), f, "keyring:hooks/auth"); !errors.As(err, &used) || !strings.HasPrefix(used.Reason, "it is used by job-2 (running)") {
		t.Errorf("of a job under way: %v", err)
	}
	if err := Remove(t.Context(), f, "keyring:hooks/old"); err != nil {
		t.Errorf("of a job that has ended: %v", err)
	}
	if moves, err := Migrate(t.Context(), f, "file", nil, nil); err != nil || len(moves) != 4 {
		t.Errorf("after that: %+v, %v", moves, err)
	}
	f.Jobs = noLedger{}
	if uses, err := Uses(t.Context(), f); err == nil || len(uses) == 0 {
		t.Errorf("without the ledger: %v, %v", uses, err)
	}
	if _, err := Migrate(t.Context(), f, "file", nil, nil); err == nil || !strings.Contains(err.Error(), "it is not known what the jobs of the ledger refer to") {
		t.Errorf("without the ledger: %v", err)
	}
}

type noLedger struct{ asked }

func (noLedger) AuthUses(context.Context) ([]model.AuthUse, error) {
	return nil, errors.New("it is locked")
}
