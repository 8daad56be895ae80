package uitest

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// OtherTab is a tab that shows what another one sends it.
type OtherTab struct{ got string }

// Init does nothing.
func (e *OtherTab) Init() tea.Cmd { return nil }

// Title is "Elsewhere".
func (e *OtherTab) Title() string { return "Elsewhere" }

// Bindings are none.
func (e *OtherTab) Bindings() []kit.Binding { return nil }

// Render shows what came last.
func (e *OtherTab) Render(int, int) string { return e.got }

// Update keeps what came.
func (e *OtherTab) Update(msg tea.Msg) tea.Cmd {
	e.got = fmt.Sprintf("%T %+v", msg, msg)
	return nil
}
