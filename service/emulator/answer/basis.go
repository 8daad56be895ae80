// Package answer writes the HTTP answers of the emulator: texts, JSON, refusals and streams,
// each with its basis. Every endpoint calls it. It keeps no state.
package answer

// A basis names the source of an answer: the contract, public documentation, or an assumption.
// The x-emulator-basis header carries it.
const (
	BasisHeader = "x-emulator-basis"

	BasisFetch        = "contract 4.1; body and x-brd-* headers: public documentation"
	BasisFetchFailed  = "public documentation: outer 200, inner status in x-brd-*, empty body"
	BasisUnlocker     = "contract 1, 4.1; unlocking, codes and x-brd-* headers: public documentation"
	BasisCrawlPage    = "contract 1, 4.1; assumption: by /request a crawl zone gives the one page, unlocked; links are followed by the crawl data set's jobs"
	BasisBrowserPage  = "contract 1, 4.1; assumption: by /request a browser zone gives the page as it stands after its scripts ran"
	BasisOtherPage    = "contract 1, 4.1; assumption: by /request a zone of this product gives the page as the target sends it"
	BasisStandIn      = "contract 1, 4.1; assumption: the lab's results stand in for those of the search engine, which is not asked"
	BasisSearch       = "contract 1, 4.1; the parsed result page: public documentation"
	BasisNoProduct    = "assumption: this installation lacks what the product needs"
	BasisAsync        = "public documentation; body of this answer: assumption"
	BasisAsyncGone    = "public documentation; status and text: assumption"
	BasisKeyMissing   = "contract 5.1; text: public documentation"
	BasisKeyExpired   = "contract 2.1, 3; status and text: assumption"
	BasisLevel        = "contract 5.3; text: public documentation"
	BasisZone         = "contract 2.2; status and text: public documentation"
	BasisSchema       = "contract 4.1; status and body: public documentation; details: assumption"
	BasisRefusal      = "assumption: refused by name because this emulator does not do it"
	BasisTrigger      = "contract 4.2; snapshot_id: public documentation"
	BasisDataset      = "public documentation"
	BasisProgress     = "public documentation; inputs, inputs_done, records, errors: addition of this emulator"
	BasisProxy        = "contract 5.2; x-brd-* headers: public documentation"
	BasisProxyRefused = "contract 5.2; status and code: public documentation"
	BasisProxyProduct = "contract 5.2; status and code: assumption"
	BasisControl      = "contract 2.1, 3, 5.3: account settings; this interface: addition of this emulator"
	BasisLoopback     = "assumption: this emulator's own guard against pages of other sites"
	BasisPolicy       = "public documentation: policy codes; which hosts they mean: assumption"
	BasisCA           = "contract 5.2 rule 3; this address: addition of this emulator"
	BasisTarget       = "assumption: the emulator's bounds"
)
