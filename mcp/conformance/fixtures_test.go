//go:build accept

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The suite calls tools, resources and prompts by names of its own. They exist in this test only.

// A PNG of one pixel and a WAV without samples.
var (
	png = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")
	wav = []byte("RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
)

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

func embedded(uri string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource content."}}
}

func fixtures(s *sdk.Server) {
	const empty = `{"type":"object","properties":{}}`
	add := func(name, schema string, h sdk.ToolHandler) {
		s.AddTool(&sdk.Tool{Name: name, Description: "A fixture of the conformance suite.", InputSchema: json.RawMessage(schema)}, h)
	}
	add("test_simple_text", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text("This is a simple text response for testing."), nil
	})
	add("test_image_content", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{Data: png, MIMEType: "image/png"}}}, nil
	})
	add("test_audio_content", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{Data: wav, MIMEType: "audio/wav"}}}, nil
	})
	add("test_embedded_resource", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{embedded("test://embedded-resource")}}, nil
	})
	add("test_multiple_content_types", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Multiple content types test:"},
			&sdk.ImageContent{Data: png, MIMEType: "image/png"}, embedded("test://mixed-content-resource")}}, nil
	})
	add("test_error_handling", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r := text("This tool intentionally returns an error for testing")
		r.IsError = true
		return r, nil
	})
	add("test_tool_with_progress", empty, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		token := r.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
				return nil, err
			}
			time.Sleep(50 * time.Millisecond)
		}
		return text(fmt.Sprint(token)), nil
	})
	add("test_sampling", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var a struct{ Prompt string }
		if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
			return nil, err
		}
		got, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: a.Prompt}}}})
		if err != nil {
			return nil, err
		}
		t, ok := got.Content.(*sdk.TextContent)
		if !ok {
			return nil, errors.New("no text")
		}
		return text("LLM response: " + t.Text), nil
	})
	elicit := func(schema string) sdk.ToolHandler {
		return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			got, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Please provide your information", RequestedSchema: json.RawMessage(schema)})
			if err != nil {
				return nil, err
			}
			content, err := json.Marshal(got.Content)
			if err != nil {
				return nil, err
			}
			return text(fmt.Sprintf("Elicitation completed: action=%s, content=%s", got.Action, content)), nil
		}
	}
	add("test_elicitation", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		elicit(`{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`))
	add("test_elicitation_sep1034_defaults", empty, elicit(`{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`))
	add("test_elicitation_sep1330_enums", empty, elicit(`{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`))
	add("json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`,
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("ok"), nil })

	s.AddResource(&sdk.Resource{URI: "test://static-text", Name: "static text", MIMEType: "text/plain"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "This is the content of the static text resource."}}}, nil
	})
	s.AddResource(&sdk.Resource{URI: "test://static-binary", Name: "static binary", MIMEType: "image/png"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: png}}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}}}, nil
	})

	user := func(c sdk.Content) *sdk.PromptMessage { return &sdk.PromptMessage{Role: "user", Content: c} }
	prompt := func(name string, args []*sdk.PromptArgument, messages func(map[string]string) []*sdk.PromptMessage) {
		s.AddPrompt(&sdk.Prompt{Name: name, Description: "A fixture of the conformance suite.", Arguments: args}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: messages(r.Params.Arguments)}, nil
		})
	}
	prompt("test_simple_prompt", nil, func(map[string]string) []*sdk.PromptMessage {
		return []*sdk.PromptMessage{user(&sdk.TextContent{Text: "This is a simple prompt for testing."})}
	})
	prompt("test_prompt_with_arguments", []*sdk.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}}, func(a map[string]string) []*sdk.PromptMessage {
		return []*sdk.PromptMessage{user(&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])})}
	})
	prompt("test_prompt_with_embedded_resource", []*sdk.PromptArgument{{Name: "resourceUri", Required: true}}, func(a map[string]string) []*sdk.PromptMessage {
		return []*sdk.PromptMessage{user(embedded(a["resourceUri"])), user(&sdk.TextContent{Text: "Please process the embedded resource above."})}
	})
	prompt("test_prompt_with_image", nil, func(map[string]string) []*sdk.PromptMessage {
		return []*sdk.PromptMessage{user(&sdk.ImageContent{Data: png, MIMEType: "image/png"}), user(&sdk.TextContent{Text: "Please analyze the image above."})}
	})
}
