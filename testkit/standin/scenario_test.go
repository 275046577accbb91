package standin

import (
	"strings"
	"testing"
	"testing/fstest"
)

// testKind is a platform that nobody has.
func testKind() Kind {
	return Kind{
		Name: "test", Link: "/meeting", Screens: []string{"denied", "ended", "removed", "left", "joining"}, Dialogs: []string{"gate", "tip", "ask-unmute"},
		Flags: []string{"loud", "quiet", "chat-host-only"}, Drops: []string{"leave", "people"}, Always: []string{"quiet"},
		Files: fstest.MapFS{"words.json": {Data: []byte(`{"en": {"seen": {"leave": ["Leave"]}}, "de": {"seen": {}, "guess": {"leave": ["Gehen"]}}}`)}},
	}
}

func TestScenariosAreReadAsOneObjectOrAsLines(t *testing.T) {
	one := `{"name": "x", "people": [{"name": "Ada"}], "steps": [{"on": "asked", "after_ms": 5, "do": "admit"}, {"on": "in", "do": "say", "who": "Ada", "text": "hi"}]}`
	lines := `{"name": "x", "people": [{"name": "Ada"}]}` + "\n\n" + `{"on": "asked", "after_ms": 5, "do": "admit"}` + "\r\n" + `{"on": "in", "do": "say", "who": "Ada", "text": "hi"}`
	for _, text := range []string{one, lines} {
		s, err := ParseScenario(testKind(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Steps) != 2 || s.Steps[0].On != "asked" || s.Steps[0].AfterMS != 5 || s.Steps[0].Do != "admit" || s.Steps[1].Who != "Ada" {
			t.Errorf("%+v", s.Steps)
		}
	}
}

func TestAWrongScenarioIsToldWithThePlace(t *testing.T) {
	for text, want := range map[string]string{
		`{"nmae": "x"}`:                              `unknown field "nmae"`,
		`{"start": "nowhere"}`:                       `start "nowhere": the stand-in of test knows`,
		`{"lang": "xx"}`:                             `lang "xx"`,
		`{"flags": ["-loud", "green"]}`:              `flag "green"`,
		`{"gate": "wall"}`:                           `gate "wall"`,
		`{"ready_ms": -1}`:                           `ready_ms: -1`,
		`{"people": [{"name": ""}]}`:                 `people[0]: no name`,
		`{"people": [{"name": "A"}, {"name": "A"}]}`: `people[1]: "A" stands twice`,
		`{"people": [{"name": "A", "extra": true, "record": "x"}]}`:                          `people[0]: extra people`,
		`{"steps": [{"on": "later", "do": "admit"}]}`:                                        `steps[0].on "later"`,
		`{"steps": [{"after_ms": -3, "do": "admit"}]}`:                                       `steps[0].after_ms: -3`,
		`{"steps": [{"do": "dance"}]}`:                                                       `steps[0]: do "dance": there are admit`,
		`{"steps": [{"do": "say", "who": "Ada", "text": "x"}]}`:                              `steps[0]: say: nobody is called "Ada"`,
		`{"steps": [{"do": "say", "text": "x"}]}`:                                            `steps[0]: say: who is missing`,
		`{"steps": [{"do": "speak", "who": "Ada"}]}`:                                         `speak: file is missing`,
		`{"steps": [{"do": "dialog", "kind": "wall"}]}`:                                      `dialog: kind "wall"`,
		`{"steps": [{"do": "lock", "state": "perhaps"}]}`:                                    `lock: state "perhaps"`,
		`{"expect": {"place": "in|heaven"}}`:                                                 `expect "heaven"`,
		`{"link": "meeting"}`:                                                                `link "meeting"`,
		"{}\n{\"do\": 1}":                                                                    `line 2: `,
		`{} {}`:                                                                              `more than one value`,
		`{"people": [` + strings.TrimSuffix(strings.Repeat(`{"name": "A"},`, 3), ",") + `]}`: `stands twice`,
	} {
		_, err := ParseScenario(testKind(), strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestPeopleWhoComeLaterMayAct(t *testing.T) {
	_, err := ParseScenario(testKind(), strings.NewReader(`{"steps": [{"on": "in", "do": "say", "who": "Ada", "text": "x", "after_ms": 9}, {"on": "in", "do": "come", "who": "Ada"}]}`))
	if err != nil {
		t.Error(err)
	}
}

func FuzzScenario(f *testing.F) {
	f.Add(`{"name": "x", "steps": [{"on": "asked", "do": "admit"}]}`)
	f.Add("{}\n{\"do\": \"admit\"}")
	f.Add(`{"people": [{"name": "A"}], "expect": {"place": "in|out", "reasons": ["x"]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		k := testKind()
		s, err := ParseScenario(k, strings.NewReader(text))
		if err != nil {
			return
		}
		if err := s.check(k); err != nil { // what was read is good
			t.Error(err)
		}
	})
}
