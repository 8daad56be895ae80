package keys

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
)

// A key's value is sent to the service of its own account. It is sent to another account only if the key and
// the address were named.

// ErrOtherAccount is wrapped by the refusal of a key of another account.
var ErrOtherAccount = errors.New("key of another account")

// OtherAccountError refuses a key of another account.
type OtherAccountError struct {
	Key      string
	Profiles []model.Profile // the profiles that the key belongs to
	To       model.Profile   // the profile that would send it
	Agent    bool            // the caller is an agent, which cannot name an address
}

func (e *OtherAccountError) Error() string {
	way, operator := "use --profile "+e.Profiles[0].Name, "with profile "+e.Profiles[0].Name
	if e.To.Redirected.API && e.To.Name == e.Profiles[0].Name {
		settings := "--base-url and ZONEDECK_BASE_URL"
		if e.To.Redirected.Agent && e.To.BaseURL == e.To.AgentURL {
			settings = "ZONEDECK_AGENT_URL"
		}
		way, operator = "leave "+settings+" out", "without "+settings
	}
	way += fmt.Sprintf(", or name key and address with --allow-key %s=%s", e.Key, addressOf(e.To))
	if e.Agent {
		way = "the operator has to start the server " + operator
	}
	return fmt.Sprintf("%v: %s, and profile %s would send it to %s: %s. Nothing was sent with it",
		ErrOtherAccount, belongs(e.Key, e.Profiles), e.To.Name, addressOf(e.To), way)
}

func (e *OtherAccountError) Unwrap() error { return ErrOtherAccount }

// belongs says which profiles a key belongs to.
func belongs(key string, profiles []model.Profile) string {
	return key + " is the key of " + accountWords(profiles)
}

// accountWords names profiles with their addresses.
func accountWords(profiles []model.Profile) string {
	words := make([]string, len(profiles))
	for i, p := range profiles {
		account := ""
		if p.Account != "" {
			account = "account " + string(p.Account) + ", "
		}
		words[i] = fmt.Sprintf("profile %s (%s%s)", p.Name, account, addressOf(p))
	}
	return strings.Join(words, " and ")
}

// addressOf is the address that a profile's key is sent to, as --allow-key writes it. For the embedded
// emulator it is a fixed name, because its address changes.
func addressOf(p model.Profile) string {
	if p.Local {
		return model.LocalName
	}
	return strings.TrimRight(p.BaseURL, "/")
}

// owner is a profile of the configuration with its key as the inventory records it.
type owner struct {
	model.Profile
	key model.Key
}

func (o owner) owns(k model.Key) bool {
	return o.key.Name == k.Name && o.key.Secret == k.Secret ||
		o.key.Secret != "" && o.key.Secret == k.Secret || o.key.Fingerprint != "" && o.key.Fingerprint == k.Fingerprint
}

// owners are the profiles of the configuration whose key is recorded.
func (ks *Keys) owners() (out []owner) {
	for _, p := range ks.cfg.Profiles.Configured() {
		if k, ok := ks.inventory.Get(p.Key); ok {
			out = append(out, owner{p, k})
		}
	}
	return out
}

// Owners tells which profiles a key belongs to, and where it may be sent.
type Owners struct{ ks *Keys }

// Owners returns the Owners of all keys.
func (ks *Keys) Owners() Owners { return Owners{ks} }

// Text says which profiles a key belongs to, with their addresses.
func (o Owners) Text(k model.Key) string {
	if o.ks.Origin(k) != "" {
		return "the key of " + accountWords([]model.Profile{o.ks.cfg.Profiles.Profile()})
	}
	if owners := o.Profiles(k); len(owners) > 0 {
		return "the key of " + accountWords(owners)
	}
	return "the key of no profile"
}

// Profiles are the profiles that a key belongs to.
func (o Owners) Profiles(k model.Key) (out []model.Profile) {
	for _, profile := range o.ks.owners() {
		if profile.owns(k) {
			out = append(out, profile.Profile)
		}
	}
	return out
}

// otherAccounts finds the profiles that a key belongs to. It finds none if p may send the key: it is the key of p, of
// another profile with the same service and account, or of no profile. The stored key of a profile that is redirected
// belongs to the service that the configuration names.
func (ks *Keys) otherAccounts(p model.Profile) func(k model.Key) []model.Profile {
	owners := ks.owners()
	return func(k model.Key) (out []model.Profile) {
		if k.Name = model.PlainName(k.Name); k.Name == p.Key && (!p.Redirected.API || k.Name == config.EnvKey) {
			return nil
		}
		for _, o := range owners {
			switch {
			case !o.owns(k):
			case sameAccount(o.Profile, p):
				return nil
			default:
				out = append(out, o.Profile)
			}
		}
		return out
	}
}

// sameAccount reports whether two profiles may be the same account of the same service.
func sameAccount(a, b model.Profile) bool {
	return addressOf(a) == addressOf(b) && (a.Account == b.Account || a.Account == "" || b.Account == "")
}

// refuseSharedVariable refuses a key for a profile that is not in use, if the key's variable also gives the key of
// another account. A variable may have another value in each run: whose key it has now is not known.
func (ks *Keys) refuseSharedVariable(p model.Profile, k model.Key) error {
	if keystore.Ref(k.Secret).Scheme() != keystore.SchemeEnv {
		return nil
	}
	also := ks.owners()
	if k.Secret == "env:"+config.EnvKey {
		also = append(also, owner{ks.cfg.Profiles.Profile(), k})
	}
	for _, o := range also {
		if o.key.Secret == k.Secret && !sameAccount(o.Profile, p) {
			return fmt.Errorf("%w: %s gives the key of %s, too, and whose it is in this run is not known: give the key of profile %s a variable of its own, or do this in a run with --profile %s. Nothing was sent with it",
				ErrOtherAccount, k.Secret, accountWords([]model.Profile{o.Profile}), p.Name, p.Name)
		}
	}
	return nil
}

// OtherAccounts says, for each key of another account, which profiles it belongs to.
func (o Owners) OtherAccounts(p model.Profile, keys []model.Key) map[string]string {
	if len(keys) == 0 { // also until the keys were read: this must not wait
		return nil
	}
	out, find := map[string]string{}, o.ks.otherAccounts(p)
	for _, k := range keys {
		if owners := find(k); len(owners) > 0 {
			out[k.Name] = accountWords(owners)
		}
	}
	return out
}

// Refuse refuses a key of another account, unless the key and the address were named.
func (o Owners) Refuse(p model.Profile, k model.Key) error {
	ks := o.ks
	owners := ks.otherAccounts(p)(k)
	if len(owners) == 0 {
		return nil
	}
	ks.confirmed.mu.Lock()
	defer ks.confirmed.mu.Unlock()
	if ks.confirmed.keys[model.PlainName(k.Name)+"="+addressOf(p)] {
		return nil
	}
	return &OtherAccountError{Key: k.Name, Profiles: owners, To: p, Agent: ks.cfg.Caller.Kind == Agent}
}

// confirmed are the keys of other accounts that may be sent to an address, as NAME=ADDRESS.
type confirmed struct {
	mu   sync.Mutex
	keys map[string]bool
}

// Confirm notes that a person has agreed to send a key to the address of the profile in use.
func (o Owners) Confirm(name string) {
	o.ks.confirm(name + "=" + addressOf(o.ks.cfg.Profiles.Profile()))
}

func (ks *Keys) confirm(keyAndAddress string) {
	ks.confirmed.mu.Lock()
	defer ks.confirmed.mu.Unlock()
	if ks.confirmed.keys == nil {
		ks.confirmed.keys = map[string]bool{}
	}
	ks.confirmed.keys[strings.TrimRight(keyAndAddress, "/")] = true
}
