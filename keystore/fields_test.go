package keystore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

func TestEditsOfSeveralMeetFieldByField(t *testing.T) {
	base := fullKey()
	edits := map[string]func(k *model.Key, n int){
		"name": func(k *model.Key, n int) { k.Name += strings.Repeat("x", n) }, "level": func(k *model.Key, n int) { k.Level = model.Levels()[2*n-1] },
		"duty": func(k *model.Key, n int) { k.Duty = model.Duty(strings.Repeat("d", n)) }, "expiry": func(k *model.Key, n int) { k.Expires = model.ExpiresAt(today.AddDate(0, 0, n)) },
		"created": func(k *model.Key, n int) { k.Created = today.AddDate(-n, 0, 0) },
		"made on": func(k *model.Key, n int) { k.Rotation.Last = today.AddDate(0, 0, -n) }, "value's place": func(k *model.Key, n int) { k.Secret = "env:" + strings.Repeat("E", n) },
		"used by": func(k *model.Key, n int) { k.UsedBy = []string{strings.Repeat("u", n)} }, "note": func(k *model.Key, n int) { k.Note = strings.Repeat("n", n) },
		"value": func(k *model.Key, n int) { k.Fingerprint = strings.Repeat("f", n) },
	}
	if len(edits) != len(keyFields()) {
		t.Fatal("a field has no edit here")
	}
	with := func(field string, n int) model.Key {
		k := cloneKey(base)
		edits[field](&k, n)
		return k
	}
	for mine := range edits {
		if got := Changes(base, with(mine, 1)); !slices.Equal(got, []string{mine}) {
			t.Errorf("an edit of %s changes %q", mine, got)
		}
		for theirs := range edits {
			got, err := Merge(base, with(mine, 1), with(theirs, 2))
			var conflict *ConflictError
			if mine == theirs {
				if !errors.As(err, &conflict) || len(conflict.Fields) != 1 || !strings.HasPrefix(conflict.Fields[0], mine+" is ") {
					t.Errorf("both changed %s: %v", mine, err)
					continue
				}
				// Having seen it, the editor may insist.
				if got, err = Merge(conflict.Base, with(mine, 1), with(theirs, 2)); err != nil || len(Changes(got, with(mine, 1))) > 0 {
					t.Errorf("%s: %+v, %v", mine, got, err)
				}
				continue
			}
			if left := Changes(base, got); err != nil || len(left) != 2 || !slices.Contains(left, mine) || !slices.Contains(left, theirs) {
				t.Errorf("%s and %s: %q, %v", mine, theirs, left, err)
			}
		}
		if got, err := Merge(base, with(mine, 1), with(mine, 1)); err != nil || len(Changes(got, with(mine, 1))) > 0 {
			t.Errorf("the same edit of %s: %v", mine, err)
		}
	}
	// A field that was emptied, or that lost a part, is named.
	if _, err := Merge(base, with("note", 1), model.Key{Name: base.Name, Rotation: model.Rotation{Last: time.Time{}}}); err == nil || !strings.Contains(err.Error(), "note is empty now") {
		t.Errorf("%v", err)
	}
}
