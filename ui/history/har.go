package history

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// writeHAR writes what the filter shows to a file.
type writeHAR struct{}

// harFile is the file and how many requests it holds.
type harFile struct {
	name string
	n    int
}

func (m *Model) writeHAR() tea.Cmd {
	if m.har.Running() {
		return kit.Warn("A HAR file is already being written.")
	}
	write, f := m.deps.Journal.FilteredHAR, m.filter.parsed
	return kit.Load(kit.History, &m.har, m.deps.Ctx, func(ctx context.Context) (out harFile, err error) {
		out.name, out.n, err = write(ctx, f)
		return out, err
	}, func(file harFile, err error) tea.Cmd {
		switch {
		case err != nil:
			return kit.Fail("The HAR file could not be written: " + err.Error())
		case file.n == 0:
			return kit.Warn("No fetch matches the filter.")
		}
		return kit.Info(file.name + " holds " + text.Counted(file.n, "request") + "; credentials are redacted.")
	})
}
