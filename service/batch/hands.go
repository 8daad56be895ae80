package batch

// hands are the goroutines that send items, one after the other: their stacks have grown already. They end when it is closed.
type hands chan func()

// do has one of them call f, or a new one if none is free.
func (h hands) do(f func()) {
	select {
	case h <- f:
	default:
		go func() {
			f()
			for f := range h {
				f()
			}
		}()
	}
}
