package fault

import "time"

// flow is a stream of bytes under a cut, a reset, a dribble or a bandwidth.
type flow struct {
	do   Action
	left int64         // bytes before the end, of a cut or a reset
	owed time.Duration // before the next read
}

func (a Action) flow() flow { return flow{do: a, left: a.After} }

// portion is how many of the next bytes go in one piece, and the wait after them. It is 0
// at the end of the stream.
func (f *flow) portion(have int) (chunk int, pause time.Duration) {
	switch f.do.Kind {
	case Cut, Reset:
		return int(min(int64(have), f.left)), 0
	case Dribble:
		return int(min(int64(have), max(f.do.Chunk, 1))), f.do.Pause
	}
	// Twenty pieces a second look like a slow line, and cost little.
	chunk = int(min(int64(have), max(f.do.Rate/20, 1)))
	return chunk, time.Duration(float64(chunk) / float64(max(f.do.Rate, 1)) * float64(time.Second))
}

// write passes bytes on piece by piece; the error is errEnded at the stream's end.
func (f *flow) write(p []byte, write func([]byte) (int, error), wait func(time.Duration) error) (written int, err error) {
	for len(p) > 0 {
		chunk, pause := f.portion(len(p))
		if chunk == 0 {
			return written, errEnded
		}
		n, err := write(p[:chunk])
		written += n
		f.left -= int64(n)
		if err != nil {
			return written, err
		}
		p = p[chunk:]
		if err := wait(pause); err != nil {
			return written, err
		}
	}
	return written, nil
}

// read reads the next piece; the error is errEnded at the stream's end.
func (f *flow) read(p []byte, read func([]byte) (int, error), wait func(time.Duration) error) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := wait(f.owed); err != nil {
		return 0, err
	}
	chunk, _ := f.portion(len(p))
	if chunk == 0 {
		return 0, errEnded
	}
	n, err := read(p[:chunk])
	f.left -= int64(n)
	_, f.owed = f.portion(max(n, 1))
	return n, err
}
