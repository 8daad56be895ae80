package kit

// What one tab asks of another, as the message of a Goto. They are here so that
// no tab has to know another's package; each opens something and sends nothing.
type (
	// OpenFetch asks the Sandbox to show a fetch of the journal.
	OpenFetch struct{ ID string }
	// OpenURL asks the Sandbox to fill its form; empty fields stay as they are.
	OpenURL struct{ Zone, URL string }
	// OpenJob asks Jobs to show a job of the ledger, by the console's own identifier.
	OpenJob struct{ ID string }
	// NewJob asks Jobs for its dialog, with these inputs filled in.
	NewJob struct{ URLs []string }
	// OpenKey asks Keys to show a key of the inventory.
	OpenKey struct{ Name string }
	// OpenLogin asks Proxy to compose the login of a zone.
	OpenLogin struct{ Zone, Country, Session string }
)
