// Package rules reads the rules that an operator adds to the diagnosis, rules.toml.
package rules
