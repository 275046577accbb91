package browse

import (
	"context"
	"fmt"
	"strings"

	"parley/browser"
	"parley/browser/act"
	"parley/tenant"
	"parley/tool"
)

// Files are what tenants brought with upload_create.
type Files interface {
	// Lend gives the paths of a tenant's files where the session's browser can read them, for as long as the session
	// lives; then the files go. Its errors are of the catalogue.
	Lend(ctx context.Context, t tenant.ID, session *browser.Session, ids []string) (paths []string, err error)
}

// UploadArgs are upload's.
type UploadArgs struct {
	On
	Element
	File   string   `json:"file_id,omitempty" arg:"brief,maxlen=64" doc:"From upload_create."`
	Files  []string `json:"files,omitempty" arg:"unlisted,max=20" doc:"Or several."`
	Method string   `json:"method,omitempty" arg:"unlisted,enum=input|chooser|drop" doc:"Default: what works, in this order."`
	TellingToo
}

// GivenFiles is upload's answer.
type GivenFiles struct {
	Worked
	Method   string   `json:"method" doc:"How: input, chooser or drop."`
	Names    []string `json:"input_files,omitempty" arg:"untrusted" doc:"What the input holds now."`
	Accepted bool     `json:"accepted" doc:"False: files were dropped and nothing took them."`
}

// UploadTools is the tool that puts files into pages.
func UploadTools(m *browser.Manager, files Files) []tool.Tool {
	s := &Service{m}
	return []tool.Tool{newTool(s, tool.Spec[UploadArgs, GivenFiles]{
		Tool: tool.Tool{
			Name: "upload", Title: "Put files into a page", OpenWorld: true,
			Doc:    "Put brought files into an input, a chooser's button or a drop zone; files: [several].",
			Errors: elementErrors(tool.CodeElementUnfit, tool.CodeFileNotFound, tool.CodeFileWaiting),
		},
		Run: func(ctx context.Context, c tool.Caller, a UploadArgs) (GivenFiles, error) {
			ids := a.Files
			if a.File != "" {
				ids = append([]string{a.File}, ids...)
			}
			if len(ids) == 0 {
				return GivenFiles{}, tool.Fail(tool.CodeBadArgument, "what", "give file_id, or files with several")
			}
			session, err := s.session(c, a.Session)
			if err != nil {
				return GivenFiles{}, err
			}
			paths, err := files.Lend(ctx, c.Tenant.ID, session, ids)
			if err != nil {
				return GivenFiles{}, err
			}
			var u act.Uploaded
			w, err := s.work(ctx, c, a.On, a.Changes, "files given", func(ctx context.Context, p *browser.Page) (act.Done, error) {
				given, err := act.Upload(ctx, p, a.locator(), paths, act.UploadOptions{Method: a.Method})
				u = given
				return given.Done, err
			})
			if err != nil {
				return GivenFiles{Worked: w}, err
			}
			return GivenFiles{Worked: w, Method: u.Method, Names: u.Names, Accepted: u.Accepted}, nil
		},
		Render: func(g GivenFiles, t *tool.Text) {
			if g.Accepted {
				t.Line("by %s", g.Method)
			} else {
				t.Line("dropped, and not accepted")
			}
			if len(g.Names) > 0 {
				t.Quote(fmt.Sprintf("the input holds: %s\n", strings.Join(g.Names, ", ")))
			}
			renderWorked(g.Worked, t)
		},
	})}
}
