package index

import (
	"context"
	"errors"
	"net/http"

	"zonedeck/service/emulator/answer"
)

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	answer.JSON(w, http.StatusTooManyRequests, basisBusy, map[string]string{"error": "Too many tasks are waiting"})
}

func (s *Service) internal(w http.ResponseWriter, err error) {
	s.cfg.Log.Error("a task was not started", "error", err)
	answer.JSON(w, http.StatusInternalServerError, basisBetaGuess, map[string]string{"error": "Internal server error"})
}
