// Package profiles is what an operator does with profiles, once for every face: adding, editing and removing one, the
// secrets behind its references, and the rates of its zones.
//
// A face fills a Draft. Probe asks the service what its account has, Check judges and completes the draft, and Save
// writes it: certificate, secrets, key inventory, and the configuration last. Removal says what goes with a profile,
// Remove removes it. Values of secrets are keystore.Secret; files, reports and errors hold references alone. A
// *Profiles is safe for concurrent use.
package profiles
