// Package keystore keeps track of API keys without keeping their values: the
// inventory of keys, the references that lead to secrets and the back ends
// behind them, the lint rules over an inventory, and the records of rotations.
//
// A secret is a Secret wherever it goes; it masks itself in every way Go has of
// printing or encoding a value, and Reveal is the only way out.
//
// The root of service wires it, service takes Secret values and resolves references through
// it, the views list keys and findings. It imports model and the standard
// library, go-toml, flock, go-keyring and age; never service or ui.
//
// Secret, Lint, CheckUse and RotationPlan are values and pure functions. A
// Resolver, an Inventory and a Rotations are safe for concurrent use, and the
// last two also share their files with other processes without losing updates.
package keystore
