package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// ReservedPrefix begins the names of actions that are the service's own.
const ReservedPrefix = "internal."

//go:embed actions.json
var actionsJSON []byte

// class tells which arguments of an action the conditions look at.
type class string

const (
	classNavigate  class = "navigate"
	classHistory   class = "history"
	classRead      class = "read"
	classLook      class = "look" // nothing in the arguments matters
	classNetwork   class = "network"
	classAct       class = "act"
	classType      class = "type"
	classPress     class = "press"
	classTabs      class = "tabs"
	classSession   class = "session"
	classKeepalive class = "keepalive"
	classJoin      class = "join"
	classMute      class = "mute"
)

var classes = []class{classNavigate, classHistory, classRead, classLook, classNetwork, classAct, classType, classPress, classTabs,
	classSession, classKeepalive, classJoin, classMute}

// action is what is known of an action by its name alone.
type action struct {
	class   class
	fires   set
	writes  bool
	meeting bool
	safety  bool
}

var actions = func() map[string]action {
	var raw map[string]struct {
		Class   class       `json:"class"`
		Fires   []Condition `json:"fires"`
		Writes  bool        `json:"writes"`
		Meeting bool        `json:"meeting"`
		Safety  bool        `json:"safety"`
	}
	if err := strict(actionsJSON, &raw); err != nil {
		panic("policy: actions.json: " + err.Error()) // part of the binary, and a test reads it
	}
	m := make(map[string]action, len(raw))
	for name, r := range raw {
		fires, err := setOf(r.Fires)
		if err != nil || !slices.Contains(classes, r.Class) {
			panic(fmt.Sprintf("policy: actions.json: %s: class %q, %v", name, r.Class, err))
		}
		m[name] = action{r.Class, fires, r.Writes, r.Meeting, r.Safety}
	}
	return m
}()

// Known tells whether the policy has classified an action.
func Known(name string) bool { _, ok := actions[name]; return ok }

// Safety tells whether an action protects people: nothing holds it up.
func Safety(name string) bool { return actions[name].safety }

// CheckActions fails when one of the names is not classified: a service with such a tool must not start.
func CheckActions(names []string) error {
	var unknown []string
	for _, n := range names {
		if !Known(n) {
			unknown = append(unknown, n)
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		return fmt.Errorf("the policy has not classified %s: add them to actions.json", strings.Join(unknown, ", "))
	}
	return nil
}
