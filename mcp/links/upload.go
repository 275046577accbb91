package links

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"parley/tenant"
	"parley/tool"
	"parley/upload"
)

// UploadKind is the kind of links that files are sent to.
const UploadKind = "upload"

// Uploads is the kind of files that arrive. A link is used up when its file has come whole; until then it can be sent
// again.
func Uploads(s interface {
	Put(ctx context.Context, t tenant.ID, id string, body io.Reader, length int64) (upload.File, error)
}, log *slog.Logger) Kind {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return Kind{Name: UploadKind, Method: http.MethodPut, Serve: func(w http.ResponseWriter, r *http.Request, a Access) bool {
		ctx, cancel := context.WithTimeout(r.Context(), transferTimeout)
		defer cancel()
		f, err := s.Put(ctx, a.Tenant, a.Target, &patient{r.Body, http.NewResponseController(w)}, r.ContentLength)
		if err != nil {
			status, text := refused(err)
			switch {
			case status == http.StatusNotFound:
				NotFound(w)
				return false
			case status == http.StatusTooManyRequests:
				w.Header().Set("Retry-After", "10")
			case status == http.StatusInternalServerError || status == http.StatusInsufficientStorage:
				log.Error("a file could not be stored", "file", a.Target, "err", err)
			}
			// What of the body was not read would be taken for the next request.
			w.Header().Set("Connection", "close")
			say(w, status, text)
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"file_id": f.ID, "filename": f.Name, "size": f.Size}) // the file is here all the same
		return true
	}}
}

// patient reads a body, and gives up on a sender that sends nothing.
type patient struct {
	body    io.Reader
	control *http.ResponseController
}

func (p *patient) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(stallTimeout)) // a reader without deadlines is one of a test
	return p.body.Read(b)
}

// refused is what a sender is told. The name of a file is in none of it.
func refused(err error) (status int, text string) {
	var large *upload.TooLargeError
	var size *upload.SizeError
	switch {
	case errors.Is(err, upload.ErrNotFound), errors.Is(err, upload.ErrClosed):
		return http.StatusNotFound, ""
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, large.Error()
	case errors.As(err, &size):
		return http.StatusBadRequest, size.Error() + "; nothing was kept, the link stays good"
	case errors.Is(err, upload.ErrBusy):
		return http.StatusTooManyRequests, "too many files arrive at once: the link stays good, try again when one has come"
	case errors.Is(err, upload.ErrArriving), errors.Is(err, upload.ErrThere):
		return http.StatusConflict, err.Error() + "; make a new one with upload_create to send another"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return http.StatusInsufficientStorage, "the disk of the service is full; nothing was kept"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, "the file came too slowly; nothing was kept, the link stays good"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return http.StatusBadRequest, "the file did not come whole; nothing was kept, the link stays good"
	}
	return http.StatusInternalServerError, "the file could not be stored; nothing was kept"
}

// Upload implements tool.UploadLinker.
func (s *Service) Upload(ctx context.Context, by tool.Caller, f upload.File) (tool.UploadLink, error) {
	address, err := s.mint(ctx, by, UploadKind, f.ID, f.Name, f.Ends.Sub(s.o.Now()))
	if err != nil {
		return tool.UploadLink{}, err
	}
	return tool.UploadLink{URL: address, ValidMin: int(f.Ends.Sub(s.o.Now()).Round(time.Minute).Minutes()),
		Curl: fmt.Sprintf("curl -sS --fail-with-body %s %s", source(f.Name), quote(address))}, nil
}

// source is how curl is told the file of the folder where it runs: - alone would be its standard input, and brackets and
// braces would name several files.
func source(name string) string {
	switch {
	case name == "-" || name == ".":
		name = "./" + name
	case strings.ContainsAny(name, "[]{}"):
		return "-g -T " + quote(name)
	}
	return "-T " + quote(name)
}
