package speech

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestTheEndOfAConnectionIsNotTheEndOfTheSpeech(t *testing.T) {
	broke := &Error{KindNetwork, "speak", fmt.Errorf("read the answer: %w", io.EOF)}
	if err := error(broke); errors.Is(err, io.EOF) || KindOf(err) != KindNetwork || err.Error() != "speech: speak: read the answer: EOF" {
		t.Errorf("%v of kind %s", err, KindOf(err))
	}
	if late := error(&Error{KindNetwork, "speak", context.DeadlineExceeded}); !errors.Is(late, context.DeadlineExceeded) {
		t.Errorf("another cause is lost: %v", late)
	}
}
