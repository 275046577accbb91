//go:build deps

// Package deps pins modules whose packages are still on their way in, so that parallel work does not fight over go.mod.
package deps

import (
	_ "github.com/cloudflare/circl/sign/mldsa/mldsa87"
	_ "github.com/coder/websocket"
	_ "github.com/go-rod/rod"
	_ "github.com/google/jsonschema-go/jsonschema"
	_ "github.com/hajimehoshi/go-mp3"
	_ "github.com/jfreymuth/pulse"
	_ "github.com/landlock-lsm/go-landlock/landlock"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/pion/opus"
	_ "github.com/pion/webrtc/v4"
	_ "github.com/yalue/onnxruntime_go"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/text/unicode/norm"
	_ "modernc.org/sqlite"
)
