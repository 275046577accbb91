package browse

import (
	"errors"

	"parley/browser"
	"parley/tool"
)

func (s *Service) seeing() []tool.Tool { return nil }

func tabMissing(err error) bool { return errors.Is(err, browser.ErrNoTab) }
