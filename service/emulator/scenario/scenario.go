// Package scenario is what an emulator plays: account, keys, zones. It is plain values.
package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"zonedeck/service/emulator/level"
)

const day = 24 * time.Hour

// Scenario is the account that the emulator plays. Its keys and passwords are plain
// and the same at every start; what is changed at run time lies in the state folder.
type Scenario struct {
	// Name seeds the values of keys and passwords.
	Name string
	// Account starts with "hl_"; Prefix is the first word of proxy usernames.
	Account, Prefix string
	Keys            []Key
	Zones           []Zone
	// PageDelay is how long a job waits before each page, so that progress shows.
	PageDelay time.Duration
}

// Key is a key the scenario owns. Its ages are relative to the start of the
// emulator, so that a demo shows the same states every day.
type Key struct {
	Name  string
	Level level.Level
	// Duty is what the key is used for, as text ("batch job", "human").
	Duty string
	// Unlimited keys never expire; the others expire ExpiresIn after the start (a
	// negative value: before it).
	Unlimited bool
	ExpiresIn time.Duration
	// RotatedAgo is the age of the value at the start; negative is unknown.
	RotatedAgo time.Duration
	// Value is the key; empty derives 64 hex digits from scenario and name.
	Value string
}

// Zone is a zone of the scenario.
type Zone struct {
	Name, Product    string
	IdentityVerified bool
	// Password for native access; empty derives one from scenario and name.
	Password string
}

// unknownAge marks a key whose last rotation nobody recorded.
const unknownAge = -1 * time.Nanosecond

// Demo is the scenario of a fresh machine: a zone of every product, and keys of every
// level in every state of expiry and rotation.
func Demo() *Scenario {
	// Half a day more keeps "expires in 7 days" true, in whole days, for the twelve
	// hours after the start.
	in := func(days int) time.Duration { return time.Duration(days)*day + day/2 }
	ago := func(days int) time.Duration { return time.Duration(days) * day }
	s := &Scenario{
		Name: "demo", Account: "hl_demo01", Prefix: "brd", PageDelay: 40 * time.Millisecond,
		Keys: []Key{
			{Name: "etl-main", Level: level.Ops, Duty: "batch job", Unlimited: true, RotatedAgo: ago(112)},
			{Name: "ci-fetch", Level: level.User, Duty: "batch job", ExpiresIn: in(7), RotatedAgo: ago(52)},
			{Name: "old-admin", Level: level.Admin, Duty: "human", ExpiresIn: in(41), RotatedAgo: unknownAge},
			{Name: "batch-user", Level: level.User, Duty: "batch job", ExpiresIn: in(60), RotatedAgo: ago(20)},
			{Name: "finance-review", Level: level.Finance, Duty: "human", ExpiresIn: in(120), RotatedAgo: ago(90)},
			{Name: "limit-lists", Level: level.Limit, Duty: "batch job", ExpiresIn: in(90), RotatedAgo: ago(80)},
			{Name: "expired-user", Level: level.User, Duty: "batch job", ExpiresIn: in(-3), RotatedAgo: ago(95)},
			{Name: "ops-zones", Level: level.Ops, Duty: "human", ExpiresIn: in(75), RotatedAgo: ago(10)},
		},
	}
	for _, p := range [...]string{
		"datacenter", "isp", "residential", "mobile", "unlocker", "serp", "browser", "crawl",
		"scrapers", "datasets", "discover", "deep_lookup", "agent",
	} {
		s.Zones = append(s.Zones, Zone{Name: p + "_demo", Product: p})
	}
	return s
}

// KeyValue is the value of one of the scenario's keys.
func (s *Scenario) KeyValue(k Key) string {
	if k.Value != "" {
		return k.Value
	}
	return derived(s.Name, "key", k.Name)
}

// ZonePassword is the password of one of the scenario's zones.
func (s *Scenario) ZonePassword(z Zone) string {
	if z.Password != "" {
		return z.Password
	}
	return derived(s.Name, "password", z.Name)[:20]
}

func derived(scenario, kind, name string) string {
	sum := sha256.Sum256([]byte("zonedeck emulator\x00" + scenario + "\x00" + kind + "\x00" + name))
	return hex.EncodeToString(sum[:])
}
