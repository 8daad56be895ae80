package profiles

import (
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	service "zonedeck/service/profiles"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// The fields of the dialog that moves secrets; the store is fieldStore.
const (
	fieldMoved = "moved"
	allSecrets = "all" // of the console's other store; no reference is spelled so
)

// move opens the dialog that moves secrets to another store.
func move(d Deps) tea.Msg {
	uses, err := d.Profiles.SecretUses(d.Ctx)
	if err != nil {
		return kit.Toast{Kind: kit.ToastError, Text: err.Error()}
	}
	options := []widget.Option{{Value: allSecrets, Label: "all in the other store"}}
	for _, u := range uses {
		if keystore.Ref(u.Ref).Scheme() != keystore.SchemeDemo {
			options = append(options, widget.Option{Value: u.Ref, Label: keystore.Ref(u.Ref).Label(), Note: strings.Join(u.Uses, ", ")})
		}
	}
	if len(options) == 1 {
		return kit.Toast{Kind: kit.ToastWarn, Text: "nothing refers to a secret that can be moved: no key, no profile and no job"}
	}
	stores := slices.DeleteFunc(storeOptions(), func(o widget.Option) bool { return !slices.Contains(keystore.StoreSchemes(), o.Value) })
	dialog := widget.NewFormDialog(d.Theme, "Move secrets", widget.NewForm(d.Theme,
		widget.Field{Name: fieldMoved, Label: "Secret", Kind: widget.FieldPick, Options: options, Value: allSecrets},
		widget.Field{Name: fieldStore, Label: "To", Kind: widget.FieldChoice, Options: stores, Value: keystore.SchemeFile},
	))
	dialog.Intro = "Each secret is written to the new store and read back. Then its references are switched, and only then is the old copy deleted. " +
		"Variables and commands stay as they are. An interrupted move is finished first."
	dialog.Submit, dialog.Deliberate, dialog.Width = "move", true, 84
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		var refs []string
		if ref := f.Value(fieldMoved); ref != allSecrets {
			refs = []string{ref}
		}
		to := f.Value(fieldStore)
		return dialog.Run(func() (tea.Msg, error) {
			moves, err := d.Profiles.MoveSecrets(d.Ctx, to, refs, nil)
			if errors.Is(err, service.ErrNothing) {
				return nil, errors.New("nothing to move: it is in that store already")
			}
			if err != nil {
				return nil, err
			}
			return kit.Toast{Text: moved(moves)}, nil
		})
	}
	return tea.Sequence(kit.OpenOverlay(dialog), func() tea.Msg {
		answers := d.Profiles.Stores(d.Ctx)
		return kit.Call(kit.InOverlay(dialog), func() tea.Cmd {
			chooseStore(dialog.Form, stores, answers)
			return nil
		})
	})()
}

// chooseStore shows which stores do not answer.
func chooseStore(f *widget.Form, stores []widget.Option, answers []service.Store) {
	note := widget.Note{}
	for _, s := range answers {
		if s.Err == nil {
			continue
		}
		for i := range stores {
			if stores[i].Value == s.Scheme {
				stores[i].Disabled = s.Err.Error()
			}
		}
		note = widget.Note{Mark: widget.NoteWarn, Text: s.Err.Error()}
	}
	f.SetOptions(fieldStore, stores)
	f.SetNote(fieldStore, note)
}

// moved says what became of the secrets.
func moved(moves []service.Move) string {
	var places []string
	kept := 0
	for _, m := range moves {
		places = append(places, keystore.Ref(m.From).Label()+" is "+m.To+" now")
		if !m.Deletes {
			kept++
		}
	}
	words := "moved " + text.Counted(len(moves), "secret") + ": " + strings.Join(places, ", ")
	if kept > 0 {
		words += "; the variable or command still gives the old copy"
	}
	return words
}
