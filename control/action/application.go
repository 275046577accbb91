package action

import (
	"context"
	"net/url"
	"slices"

	"parley/control/publish"
	"parley/control/wire"
	"parley/tool"
)

// Appearance is the only part of the settings that agents see.
type Appearance struct {
	Mode    string `json:"mode,omitempty" arg:"enum=system|light|dark"`
	Accent  string `json:"accent,omitempty" arg:"enum=blue|teal|violet"`
	TabMode string `json:"tabMode,omitempty" arg:"enum=separate|compact"`
}

// Settings is what settings:get and settings:update give.
type Settings struct {
	Visible    []string   `json:"visible"`
	Hidden     []string   `json:"hiddenSections"`
	Locked     []string   `json:"lockedSections"`
	Appearance Appearance `json:"appearance"`
}

// UpdateArgs are those of settings:update.
type UpdateArgs struct {
	Appearance Appearance `json:"appearance" arg:"required"`
}

func (d *Desk) application() []tool.Tool {
	return []tool.Tool{
		define("settings:get", "Gives the settings agents may see.", true, func(ctx context.Context, c *Call, _ Empty) (Settings, error) { return d.settings(ctx, c) }),
		define("settings:update", "Changes the appearance, where it is neither hidden nor locked.", false, d.update),
	}
}

// members are those of an appearance with the sections that hold them.
func members(a Appearance) map[string]string {
	return map[string]string{"appearance.mode": a.Mode, "appearance.accent": a.Accent, "appearance.tabMode": a.TabMode}
}

func under(list []string, section string) bool {
	return slices.Contains(list, section) || slices.Contains(list, "appearance")
}

func (d *Desk) settings(ctx context.Context, c *Call) (Settings, error) {
	set, err := d.Store.ControlSettings.All(ctx, d.Tenant)
	if err != nil {
		return Settings{}, err
	}
	s := c.Policy.Settings
	out := Settings{Visible: []string{}, Hidden: append([]string{}, s.Hidden...), Locked: append([]string{}, s.Locked...)}
	for _, name := range publish.Sections() {
		if !under(s.Hidden, name) {
			out.Visible = append(out.Visible, name)
		}
	}
	value := func(name, other string) string {
		if under(s.Hidden, name) {
			return ""
		}
		if v := set[name]; v != "" {
			return v
		}
		return other
	}
	out.Appearance = Appearance{value("appearance.mode", "system"), value("appearance.accent", "blue"), value("appearance.tabMode", "separate")}
	return out, nil
}

func (d *Desk) update(ctx context.Context, c *Call, a UpdateArgs) (Settings, error) {
	change := map[string]string{}
	for name, v := range members(a.Appearance) {
		if v == "" {
			continue
		}
		if under(c.Policy.Settings.Hidden, name) || under(c.Policy.Settings.Locked, name) {
			return Settings{}, fail(wire.CodeDenied, "the setting is managed")
		}
		change[name] = v
	}
	if len(change) == 0 {
		return Settings{}, fail(wire.CodeInvalid, "nothing is to be changed")
	}
	if !c.Current() {
		return Settings{}, fail(wire.CodeConflict, "the policy is another by now")
	}
	if err := d.Store.ControlSettings.Set(ctx, d.Tenant, change); err != nil {
		return Settings{}, err
	}
	return d.settings(ctx, c)
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// origin is scheme and authority of an address.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
