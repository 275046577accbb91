package page

import (
	"strings"
	"testing"

	"parley/control/tabs"
)

func TestSelectors(t *testing.T) {
	for _, s := range []string{"a", "#id", ".a.b", "div > p", "div>p", "ul li:nth-child(2)", `input[name="q"]`, "html>body>div:nth-of-type(3)>a", "my-el#x.y", "*", "a + b",
		`button[aria-label="Close, please: \u0000"]`[:29] + `"]`} {
		if !Selector(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"", " a", "a ", "a,b", "a:has(b)", "a:not(b)", ":is(a)", "xpath=//a", "//a", "a[onclick]", `input[value="x"]`, `input[value^="x"]`, `a[href^="x"]`, "a::before",
		"a{}", "a/*x*/", `a[name="\22"]`, "javascript:alert(1)", "a~b", "a>>>b", "<script>", `a[name='x']`, "#1", "a:nth-child(2n)", "a:nth-child(99999)", strings.Repeat("a ", 300) + "a",
		"a\n>b", "text=Login", `a[name="` + "\n" + `"]`, "é"} {
		if Selector(s) {
			t.Errorf("%q is taken", s)
		}
	}
}

// TestArgumentsAreData: nothing a caller says ends the literal it stands in.
func TestArgumentsAreData(t *testing.T) {
	evil := "\u2028\u2029</script><!--\"'`${alert(1)}\\"
	call, err := Call(tabs.Type, "https://a.example/", map[string]string{"text": evil})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := Source(tabs.Type)
	data := strings.TrimPrefix(call, "("+text+")(")
	for _, raw := range []string{"\u2028", "\u2029", "</", "<!"} {
		if strings.Contains(data, raw) {
			t.Errorf("%q stands in the call", raw)
		}
	}
	if _, err := Call("eval", "", nil); err == nil {
		t.Error("a script that is none of ours")
	}
}

func TestTheScriptsAreFixed(t *testing.T) {
	for _, s := range Scripts() {
		text, ok := Source(s)
		if !ok || !strings.Contains(text, "arg.at") {
			t.Errorf("%s does not look where it is", s)
		}
		for _, bad := range []string{"eval(", "new Function", "document.cookie", "localStorage", "sessionStorage", "indexedDB", "fetch(", "XMLHttpRequest", "innerHTML", "outerHTML", "import(", ".submit("} {
			if strings.Contains(text, bad) {
				t.Errorf("%s uses %s", s, bad)
			}
		}
	}
}

func FuzzSelector(f *testing.F) {
	f.Add("div > p")
	f.Add(`a[name="x"]`)
	f.Fuzz(func(t *testing.T, s string) {
		if Selector(s) && (len(s) > MaxSelector || strings.ContainsAny(s, "{};\\'`\n\r\x00") && !strings.Contains(s, `"`) || strings.Contains(s, ":has(") && !strings.Contains(s, `"`)) {
			t.Errorf("%q is taken", s)
		}
	})
}
