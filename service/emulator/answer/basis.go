// Package answer writes the HTTP answers of the emulator: texts, JSON, refusals, streams,
// and what each rests on. Every endpoint calls it. It keeps no state.
package answer

// The bases say what an answer rests on; it travels in the x-emulator-basis header.
const (
	BasisHeader = "x-emulator-basis"

	BasisFetch        = "service.md 4.1; body and x-brd-* headers: public documentation"
	BasisFetchFailed  = "public documentation: outer 200, inner status in x-brd-*, empty body"
	BasisKeyMissing   = "service.md 5.1; text: public documentation"
	BasisKeyExpired   = "service.md 2.1, 3; status and text: assumption"
	BasisLevel        = "service.md 5.3; text: public documentation"
	BasisZone         = "service.md 2.2; status and text: public documentation"
	BasisSchema       = "service.md 4.1; status and body: public documentation; details: assumption"
	BasisRefusal      = "assumption: refused by name because this emulator does not do it"
	BasisTrigger      = "service.md 4.2; snapshot_id: public documentation"
	BasisDataset      = "public documentation"
	BasisProgress     = "public documentation; inputs, inputs_done, records, errors: addition of this emulator"
	BasisProxy        = "service.md 5.2; x-brd-* headers: public documentation"
	BasisProxyRefused = "service.md 5.2; status and code: public documentation"
	BasisProxyProduct = "service.md 5.2; status and code: assumption"
	BasisControl      = "service.md 2.1, 3, 5.3: account settings; this interface: addition of this emulator"
	BasisPolicy       = "public documentation: policy codes; which hosts they mean: assumption"
	BasisCA           = "service.md 5.2 rule 3; this address: addition of this emulator"
	BasisTarget       = "assumption: the emulator's bounds"
)
