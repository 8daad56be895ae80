package kit

// Messages from one tab to another, sent with a Goto. They are here so that no tab
// imports another. Each opens something; none sends a request.
type (
	// OpenFetch asks the Sandbox to show a fetch of the journal. Profile is the one that
	// it was sent with.
	OpenFetch struct{ ID, Profile string }
	// OpenTwin asks the Sandbox to show a comparison of the journal, made with Profile.
	OpenTwin struct{ ID, Profile string }
	// OpenURL asks the Sandbox to fill in its form; empty fields change nothing.
	OpenURL struct{ Zone, URL string }
	// OpenJob asks Jobs to show a job of the ledger, by the console's identifier.
	OpenJob struct{ ID string }
	// NewJob asks Jobs for its dialog, with these inputs filled in.
	NewJob struct{ URLs []string }
	// OpenKey asks Keys to show a key of the inventory.
	OpenKey struct{ Name string }
	// OpenLogin asks Proxy to compose the login of a zone.
	OpenLogin struct{ Zone, Country, Session string }
)
