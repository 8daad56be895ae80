// Package keystore keeps track of API keys without storing their values in the
// inventory. It has the inventory, the references to secrets and their back ends,
// the lint rules for keys, and the records of rotations.
//
// Secrets are passed as Secret, which masks itself however Go prints or encodes it.
// Only Reveal gives the value.
//
// The root of service wires it. service resolves references through it and passes
// Secret values; the views list keys and findings. It imports model, the standard
// library, go-toml, flock, go-keyring and age, and never service or ui.
//
// Secret, Lint, CheckUse and RotationPlan are values and pure functions. A
// Resolver, an Inventory and a Rotations are safe for concurrent use, and the
// last two also share their files with other processes without losing updates.
package keystore
