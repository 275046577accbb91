package station

import (
	"context"
	"log/slog"
	"strings"
	"testing"
)

// Whoever leaves while everything still comes up has done nothing that an operator should look at.
func TestLeavingWhileStartingIsNoError(t *testing.T) {
	for _, told := range []bool{false, true} {
		var log strings.Builder
		s := &station{log: slog.New(slog.NewTextHandler(&log, nil))} // without a link nothing can come up
		ctx, leave := context.WithCancel(t.Context())
		if told {
			leave()
		}
		_, err := s.Open(ctx)
		leave()
		if err == nil || strings.Contains(log.String(), "level=ERROR") == told {
			t.Errorf("told to leave %v: %v, and the log says %q", told, err, log.String())
		}
	}
}
