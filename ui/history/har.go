package history

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// writeHAR writes what the filter shows; harWritten is the file.
type (
	writeHAR   struct{}
	harWritten struct {
		file string
		n    int
		err  error
	}
)

func (m *Model) writeHAR() tea.Cmd {
	if m.har.Running() {
		return kit.Warn("A HAR file is being written.")
	}
	write, f := m.deps.HAR, m.filter.parsed
	return kit.Do(kit.Activity, &m.har, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		file, n, err := write(ctx, f)
		return harWritten{file, n, err}
	})
}

func (m *Model) harWritten(msg harWritten) tea.Cmd {
	switch {
	case msg.err != nil:
		return kit.Fail("The HAR file could not be written: " + msg.err.Error())
	case msg.n == 0:
		return kit.Warn("No fetch passes the filter.")
	}
	return kit.Info(msg.file + " holds " + text.Counted(msg.n, "request") + "; credentials are redacted.")
}
