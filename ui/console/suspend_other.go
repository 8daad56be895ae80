//go:build windows

package console

import tea "charm.land/bubbletea/v2"

// suspend is nil: there is no shell that could continue the program.
func suspend() tea.Cmd { return nil }
