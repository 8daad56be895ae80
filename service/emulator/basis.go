package emulator

// Basis says what an answer rests on; it travels in the x-emulator-basis header.
const (
	basisHeader = "x-emulator-basis"

	basisFetch        = "service.md 4.1; body and x-brd-* headers: public documentation"
	basisFetchFailed  = "public documentation: outer 200, inner status in x-brd-*, empty body"
	basisKeyMissing   = "service.md 5.1; text: public documentation"
	basisKeyExpired   = "service.md 2.1, 3; status and text: assumption"
	basisLevel        = "service.md 5.3; text: public documentation"
	basisZone         = "service.md 2.2; status and text: public documentation"
	basisSchema       = "service.md 4.1; status and body: public documentation; details: assumption"
	basisRefusal      = "assumption: refused by name because this emulator does not do it"
	basisTrigger      = "service.md 4.2; snapshot_id: public documentation"
	basisDataset      = "public documentation"
	basisProgress     = "public documentation; inputs, inputs_done, records, errors: addition of this emulator"
	basisProxy        = "service.md 5.2; x-brd-* headers: public documentation"
	basisProxyRefused = "service.md 5.2; status and code: public documentation"
	basisProxyProduct = "service.md 5.2; status and code: assumption"
	basisControl      = "service.md 2.1, 3, 5.3: account settings; this interface: addition of this emulator"
	basisTarget       = "assumption: the emulator's bounds"
)
