package view

import (
	"zonedeck/keystore"
	"zonedeck/service/secrets"
)

// Secret is one reference (docs/schema/secrets.json).
type Secret struct {
	Reference string   `json:"reference" jsonschema:"of a command the program alone"`
	Store     string   `json:"store" enum:"cmd|demo|env|file|keyring"`
	UsedBy    []string `json:"used_by"`
	State     string   `json:"state" enum:"missing|not asked|present|unreachable"`
	Reason    string   `json:"reason" jsonschema:"why, where it is not present"`
}

// SecretMove is one moved secret (docs/schema/secrets-migrate.json).
type SecretMove struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Done    bool   `json:"done" jsonschema:"the references are switched"`
	Removed bool   `json:"removed" jsonschema:"the old secret is gone"`
}

// Secrets are what "secrets list --json" prints (docs/schema/secrets.json).
type Secrets struct {
	SchemaVersion Version  `json:"schema_version"`
	Secrets       []Secret `json:"secrets"`
}

// SecretMoves are what "secrets migrate --json" prints (docs/schema/secrets-migrate.json).
type SecretMoves struct {
	SchemaVersion Version      `json:"schema_version"`
	Moves         []SecretMove `json:"moves"`
}

// NewSecretMoves are secrets that were moved, or not.
func NewSecretMoves(moves []secrets.Move) SecretMoves {
	return SecretMoves{Moves: each(moves, func(m secrets.Move) SecretMove {
		return SecretMove{keystore.Ref(m.From).Label(), m.To, m.Done, m.Done && m.Deletes}
	})}
}
