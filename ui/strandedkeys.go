package ui

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// prompts are the keys after which words are typed, and what is missing where they have no
// meaning: the words would be commands there.
var prompts = map[string]string{
	"/": "there is nothing to search here",
	"|": "there is nothing to filter here",
}

// dropStranded drops the word that is typed after a prompt key that has no meaning, up to the enter or
// esc that ends it. handled is false for every other key.
func (a *App) dropStranded(k tea.KeyPressMsg, name string) (cmd tea.Cmd, handled bool) {
	v := a.target()
	if capturing(v) {
		a.found()
		return nil, false
	}
	if a.astray != "" {
		if k.Text != "" || name == "backspace" {
			return a.stray(), true
		}
		a.found()
		return nil, name == "enter" || name == "esc"
	}
	missing, is := prompts[name]
	bindings := a.theme.Bound(v.Bindings())
	b, bound := kit.Find(bindings, name, false)
	if !is || bound && b.Disabled == "" {
		return nil, false
	}
	if !bound && kit.InForm(bindings) { // where no letter does harm
		return a.addToast(kit.Toast{Text: kit.KeyName(name) + " " + missing + ": enter on a list of the form filters it"}), true
	}
	if bound {
		missing = b.Label + ": " + b.Disabled
	}
	a.astray = kit.KeyName(name) + " " + missing + "; what you type is ignored until enter or esc"
	return a.stray(), true
}

// strayWord is what the toast of a dropped word is about.
const strayWord = "a word that nothing takes"

// stray says that what is typed is dropped.
func (a *App) stray() tea.Cmd { return a.addToast(kit.Toast{Text: a.astray, About: strayWord}) }

// found ends the word that is dropped.
func (a *App) found() {
	if a.astray != "" {
		a.astray = ""
		a.toasts.add(kit.Toast{About: strayWord})
	}
}
