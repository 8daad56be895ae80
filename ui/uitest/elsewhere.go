package uitest

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// Elsewhere is a tab that shows what another one sends it.
type Elsewhere struct{ got string }

// Init does nothing.
func (e *Elsewhere) Init() tea.Cmd { return nil }

// Title is "Elsewhere".
func (e *Elsewhere) Title() string { return "Elsewhere" }

// Bindings are none.
func (e *Elsewhere) Bindings() []kit.Binding { return nil }

// Render shows what came last.
func (e *Elsewhere) Render(int, int) string { return e.got }

// Update keeps what came.
func (e *Elsewhere) Update(msg tea.Msg) tea.Cmd {
	e.got = fmt.Sprintf("%T %+v", msg, msg)
	return nil
}
