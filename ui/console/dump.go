package console

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// restoreTime bounds how long a signal that dumps waits for the terminal: it is sent to a
// console that hangs, too.
const restoreTime = time.Second

// dumpAfter gives the program's terminal back before a signal that dumps the goroutines
// ends the process. The call of stop does not return once such a signal has arrived.
func dumpAfter(program *tea.Program) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGABRT)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-done:
		case s := <-signals:
			restored := make(chan struct{})
			go func() {
				program.Kill()
				close(restored)
			}()
			select {
			case <-restored:
			case <-time.After(restoreTime):
			}
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
				select {} // until the runtime has dumped and ended the process
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		waiting.Wait()
	}
}
