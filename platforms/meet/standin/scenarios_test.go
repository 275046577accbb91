package standin

import (
	"testing"

	"parley/testkit/standin"
)

func TestScenariosAndWords(t *testing.T) {
	if err := standin.CheckKind(Kind()); err != nil {
		t.Error(err)
	}
}
