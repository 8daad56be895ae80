package model

// TrustVerdict says whether something vouches for a chain.
type TrustVerdict string

// The verdicts. TrustUnknown is never shown as one of the others.
const (
	TrustYes     TrustVerdict = "trusted"
	TrustNo      TrustVerdict = "untrusted"
	TrustUnknown TrustVerdict = "unknown"
)

// TrustClient is a kind of HTTP client.
type TrustClient string

// The clients whose trust is known how to find out.
const (
	ClientCurl     TrustClient = "curl"
	ClientRequests TrustClient = "Python requests"
	ClientNode     TrustClient = "Node"
	ClientChromium TrustClient = "Chromium"
	ClientGo       TrustClient = "Go"
)

// CAPlace stands in ClientTrust.Install for the file of a CA that the profile does not name.
const CAPlace = "CA.pem"

// EnvSetting is a variable of the environment that clients heed.
type EnvSetting struct {
	Name string `json:"name"`
	// Value is bounded and printable; a login in it is masked.
	Value string `json:"value"`
}

// TrustStore is one place where certificates of authorities are looked for, and what it says of a
// chain.
type TrustStore struct {
	Name    string       `json:"name"` // "system store", "CURL_CA_BUNDLE", …
	Path    string       `json:"path"` // a file or a folder, or empty
	Verdict TrustVerdict `json:"verdict" enum:"trusted|unknown|untrusted"`
	// Reason says why the verdict is not TrustYes, or what it rests on; it may be empty.
	Reason string `json:"reason"`
	Empty  bool   `json:"-"` // it holds no certificate
}

// ClientTrust is what one client would make of a chain.
type ClientTrust struct {
	Client  TrustClient  `json:"client"`
	Verdict TrustVerdict `json:"verdict" enum:"trusted|unknown|untrusted"`
	// Stores are where it looks, each with its own verdict.
	Stores []TrustStore `json:"stores"`
	// Settings are the variables of the environment that it heeds and that are set.
	Settings []EnvSetting `json:"settings"`
	// Note says what cannot be read, or else must be known; it may be empty.
	Note string `json:"note"`
	// Install are the lines of a shell that make it trust a CA file.
	Install []string `json:"install"`
}

// TrustReport says who on a machine trusts a chain.
type TrustReport struct {
	// Root says which authority has to be trusted: the end of the chain as it was presented.
	Root string `json:"root"`
	// RootSHA256 is its fingerprint, empty where only its name is known.
	RootSHA256 string `json:"root_sha256"`
	// HostMismatch says why the certificate does not hold for the page's host, or is empty. No
	// authority mends that.
	HostMismatch string `json:"host_mismatch"`
	// System is the system's store, File the profile's file, nil without one.
	System  TrustStore    `json:"system"`
	File    *TrustStore   `json:"file"`
	Clients []ClientTrust `json:"clients"`
}
