package radius

import (
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
)

// KeyID names a key: one of the inventory, or one that comes with a profile.
type KeyID struct{ Name, Profile string }

// ID is the subject's key.
func (s Subject) ID() KeyID { return KeyID{s.Key, s.Profile} }

// KeyUsage is what the uses of a key say to the rules about keys. A file holds its value only where the
// fingerprints say so: what it assigns to the key's variable may be a placeholder.
func KeyUsage(k model.Key, uses []Use) (s keystore.KeyUsage) {
	for _, u := range uses {
		if !u.Ended.IsZero() {
			s.Ended = append(s.Ended, u.String())
			continue
		}
		switch u.Kind {
		case Profile, SavedRequest:
			s.Fetches = append(s.Fetches, u.String())
		case RunningJob:
			s.Fetches = append(s.Fetches, u.String())
			s.Automated = append(s.Automated, u.String())
		case EnvFile:
			s.Automated = append(s.Automated, u.String())
		case TrackedFile:
			if k.Fingerprint != "" && u.Fingerprint == k.Fingerprint || u.Previous {
				s.Tracked = append(s.Tracked, u.String())
			} else {
				s.Automated = append(s.Automated, u.String())
			}
		}
	}
	return s
}

// Names are what a key's record names, and then what was found besides, each once. Its own reference
// is named by who reads it. What has a value that has ended uses the key no more.
func Names(k model.Key, uses []Use) []string {
	out := slices.Clone(k.UsedBy)
	if i := slices.Index(out, k.Secret); i >= 0 && k.Secret != "" {
		out[i] = keystore.ThisConsole
	}
	for _, u := range uses {
		if name := u.String(); u.Ended.IsZero() && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
