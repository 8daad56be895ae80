package kit

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
)

// Messages from one tab to another, sent with a Goto. They are here so that no tab
// imports another. Each opens something; none sends a request.
type (
	// OpenFetch asks the Sandbox to show a fetch of the journal. Profile is the one that
	// it was sent with.
	OpenFetch struct{ ID, Profile string }
	// HistoryGrew tells the Sandbox that fetches were added to the history elsewhere.
	HistoryGrew struct{}
	// OpenComparison asks the Sandbox to show a comparison of the journal, made with Profile.
	OpenComparison struct{ ID, Profile string }
	// OpenSaved asks the Sandbox to fill its form with a saved request.
	OpenSaved struct{ Name string }
	// OpenURL asks the Sandbox to fill in its form; an empty Zone, URL or Via changes nothing.
	// With a Via, country and session are what they say, empty ones too.
	OpenURL struct {
		Zone, URL, Country, Session string
		Via                         model.Via
	}
	// OpenRequest asks the Sandbox to fill its form with a request of a profile.
	OpenRequest struct {
		Request model.FetchRequest
		Profile string
	}
	// BatchTemplate asks the Sandbox to send its form's request to Jobs as a NewBatch.
	BatchTemplate struct{}
	// NewBatch asks Jobs for the dialog of a batch, with a request as the template.
	NewBatch struct{ Request model.FetchRequest }
	// OpenBatch asks Jobs to show a batch.
	OpenBatch struct{ ID string }
	// OpenJob asks Jobs to show a job of the ledger, by the console's identifier, or the drift of its result.
	OpenJob struct {
		ID    string
		Drift bool
	}
	// NewJob asks Jobs for its dialog, with these inputs filled in.
	NewJob struct{ URLs []string }
	// OpenKey asks Keys to show a key of the inventory.
	OpenKey struct{ Name string }
	// RotatePassword asks Keys to show the rotation of a zone's password, by a key; nothing is begun.
	RotatePassword struct{ Zone, Key string }
	// OpenLogin asks Proxy to compose the login of a zone.
	OpenLogin struct{ Zone, Country, Session string }
)

// OpenEntry goes to what an entry of the timeline is about; nil where that is nothing.
func OpenEntry(a model.HistoryEntry) tea.Cmd {
	switch a.Kind {
	case model.HistoryFetch:
		return GotoTab(Sandbox, OpenFetch{ID: a.Ref, Profile: a.Profile})
	case model.HistoryComparison:
		return GotoTab(Sandbox, OpenComparison{ID: a.Ref, Profile: a.Profile})
	case model.HistoryJob:
		return GotoTab(Jobs, OpenJob{ID: a.Ref, Drift: a.Class == model.ClassParsingDrift})
	case model.HistoryBatch:
		return GotoTab(Jobs, OpenBatch{ID: a.Ref})
	case model.HistoryKey:
		return GotoTab(Keys, OpenKey{Name: a.Ref})
	case model.HistoryProbe:
		return GotoTab(Proxy, OpenLogin{Zone: a.Zone})
	}
	return nil
}
