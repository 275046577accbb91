package tool

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"parley/tenant"
	"parley/upload"
)

// maxInline is the most that upload_create takes itself.
const maxInline = 1 << 20

// UploadArgs are upload_create's.
type UploadArgs struct {
	Name    string `json:"filename" arg:"required,maxlen=200,terse" doc:"The file's name, without a folder."`
	Size    int64  `json:"size_bytes,omitempty" arg:"min=1,terse" doc:"How many bytes it has, if you know; then exactly so many have to come."`
	Content string `json:"content_base64,omitempty" arg:"maxlen=1400000,terse" doc:"All of it, up to 1 MB: then it is there at once, and there is nothing to send."`
}

// Uploaded is an upload that waits for its bytes, or a file that is there.
type Uploaded struct {
	File string `json:"file_id" doc:"Give it to upload or meeting_speak (audio_file_id)."`
	Name string `json:"filename" doc:"Its name."`
	Size int64  `json:"size,omitempty" doc:"Bytes that are there; absent while it has to be sent."`
	UploadLink
}

// UploadLink is where a file is sent, once.
type UploadLink struct {
	URL      string `json:"put_url,omitempty" doc:"PUT the bytes here, once. It is a secret: whoever has it can send."`
	Curl     string `json:"curl,omitempty" doc:"The command that does it."`
	ValidMin int    `json:"valid_min,omitempty" doc:"Minutes until the address ends."`
}

// Uploads keeps files; *upload.Store does.
type Uploads interface {
	Create(t tenant.ID, name string, size int64) (upload.File, error)
	Keep(ctx context.Context, t tenant.ID, name string, content []byte) (upload.File, error)
	Drop(t tenant.ID, id string)
}

// UploadLinker makes one-time addresses that files are sent to.
type UploadLinker interface {
	Upload(ctx context.Context, by Caller, f upload.File) (UploadLink, error)
}

// UploadFail gives an error of the catalogue for one of package upload. Others pass.
func UploadFail(err error, id string) error {
	var large *upload.TooLargeError
	switch {
	case errors.Is(err, upload.ErrNotFound):
		return Fail(CodeFileNotFound, "file_id", id)
	case errors.Is(err, upload.ErrWaiting):
		return Fail(CodeFileWaiting, "file_id", id)
	case errors.As(err, &large):
		return Fail(CodeFileTooLarge, "what", large).Because(err)
	case errors.Is(err, upload.ErrTooMany):
		return Fail(CodeTooManyFiles, "max", upload.MaxFiles)
	case errors.Is(err, upload.ErrBusy):
		return Fail(CodeTooManyCalls, "running", upload.MaxStreams)
	case errors.Is(err, upload.ErrName):
		return Fail(CodeBadArgument, "what", err)
	case errors.Is(err, upload.ErrClosed):
		return Fail(CodeShuttingDown)
	}
	return err
}

// UploadTable is the tool that brings files. Without links (nil) only small ones can be brought.
func UploadTable(u Uploads, links UploadLinker) []Tool {
	return []Tool{
		New(Spec[UploadArgs, Uploaded]{
			Tool: Tool{
				Name: "upload_create", Title: "Bring a file",
				Doc:    "Bring a file: gives the curl command that sends it (300 MB at most), or takes 1 MB itself. upload and meeting_speak take its file_id for an hour.",
				Errors: []Code{CodeFileTooLarge, CodeTooManyFiles, CodeNoLinks},
			},
			Run: func(ctx context.Context, c Caller, a UploadArgs) (Uploaded, error) {
				if a.Content != "" {
					return keep(ctx, u, c, a)
				}
				if links == nil {
					return Uploaded{}, Fail(CodeNoLinks)
				}
				f, err := u.Create(c.Tenant.ID, a.Name, a.Size)
				if err != nil {
					return Uploaded{}, UploadFail(err, "")
				}
				link, err := links.Upload(ctx, c, f)
				if err != nil {
					u.Drop(c.Tenant.ID, f.ID)
					return Uploaded{}, err
				}
				return Uploaded{File: f.ID, Name: f.Name, UploadLink: link}, nil
			},
			Render: func(f Uploaded, t *Text) {
				if f.URL == "" {
					t.Line("file_id %s: %d bytes are there", f.File, f.Size)
					return
				}
				t.Line("file_id %s waits for its bytes, %d min: %s", f.File, f.ValidMin, f.Curl)
			},
		}),
	}
}

// keep stores what came with the call.
func keep(ctx context.Context, u Uploads, c Caller, a UploadArgs) (Uploaded, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(a.Content), ""))
	switch {
	case err != nil:
		return Uploaded{}, Fail(CodeBadArgument, "what", "content_base64 is not base64 (the standard alphabet, with padding)")
	case len(raw) > maxInline:
		return Uploaded{}, Fail(CodeFileTooLarge, "what", "content_base64 takes 1 MB; leave it out to get an address for the whole file")
	case a.Size > 0 && a.Size != int64(len(raw)):
		return Uploaded{}, Fail(CodeBadArgument, "what", "content_base64 does not hold size_bytes bytes")
	}
	f, err := u.Keep(ctx, c.Tenant.ID, a.Name, raw)
	if err != nil {
		return Uploaded{}, UploadFail(err, "")
	}
	return Uploaded{File: f.ID, Name: f.Name, Size: f.Size}, nil
}
