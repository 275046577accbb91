//go:build accept

package miniwob

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func init() {
	solve(func(b *bench) {
		b.clicks(`svg text:text-is("1")`)
		for range 4 { // the others lose their numbers; they stand in the page in their order
			b.click(args{"selector": "svg rect", "nth": 0})
		}
	}, "ascending-numbers")

	// Menus open under the mouse.
	solve(func(b *bench) {
		path := strings.Split(in(b.query(), `Select (.+)`)[0], ">")
		for i, name := range path {
			item := exact("#menu li > div", name)
			if i < len(path)-1 {
				b.call("hover", sel(item))
				b.wait(exact("#menu li > div", path[i+1]))
				continue
			}
			b.clicks(item)
		}
	}, "click-menu")
	solve(func(b *bench) {
		icons := map[string]string{"Save": "disk", "Prev": "seek-start", "Stop": "stop", "Play": "play", "Next": "seek-end", "Zoom In": "zoomin", "Zoom Out": "zoomout"}
		want := ""
		if q := quotedIn(b.query()); len(q) > 1 {
			want = q[1]
		} else {
			for name, icon := range icons {
				if b.has("#query .ui-icon-" + icon) {
					want = name
				}
			}
		}
		b.clicks("#open-menu")
		item := `#menu li:has(> div > .ui-icon-` + icons[want] + `)`
		if !b.has(item) {
			b.call("hover", sel(`#menu li > div:text-is("Playback")`))
			b.wait(item)
		}
		b.clicks(item)
	}, "click-menu-2")

	// Shapes are told apart by what they are drawn as.
	solve(func(b *bench) {
		b.clicks("#area_svg >> " + shape(in(b.query(), `Click on an? (.+)`)[0], b))
	}, "click-shape")
	solve(func(b *bench) {
		what := in(b.query(), `How many (.+?)s? are there`)[0]
		n := b.count("#area_svg >> "+shape(what, b), 40)
		b.clicks(button(strconv.Itoa(n)))
	}, "count-shape")
	solve(func(b *bench) {
		name := ""
		for s, n := range map[string]string{"rect": "Rectangle", "circle": "Circle", "polygon": "Triangle"} {
			if b.has("#area_svg " + s) {
				name = n
			}
		}
		if name == "" {
			name = "Letter"
			if b.has("#area_svg text:text-matches('^[0-9]$')") {
				name = "Number"
			}
		}
		b.clicks(button(name))
	}, "identify-shape")

	solve(func(b *bench) { b.drag("#draggableSmall", "#draggableLarge"); submit(b) }, "drag-box")
	solve(func(b *bench) {
		d := map[string][2]float64{"left": {-25, 0}, "right": {25, 0}, "up": {0, -25}, "down": {0, 25}}[in(b.query(), `(left|right|up|down) then`)[0]]
		b.dragBy("#area svg > *", d[0], d[1])
		submit(b)
	}, "drag-circle", "drag-single-shape")
	// A sortable list puts an item where it overlaps another by half.
	const row = 30
	items := func(b *bench) []string {
		var list []string
		for _, l := range b.lines("#sortable") {
			list = append(list, strings.TrimPrefix(l, "- "))
		}
		return list
	}
	sortTo := func(b *bench, from, to int) {
		by := float64((to-from)*row) + map[bool]float64{true: 3, false: -3}[to > from]
		b.call("drag", args{"selector": "#sortable li", "nth": from, "by": []float64{0, by}})
	}
	solve(func(b *bench) {
		m := in(b.query(), `Drag (.+?) (to the top|to the bottom|up by one position|down by one position|to the (\d)\w\w position)`)
		list := items(b)
		from := slices.Index(list, m[0])
		to := map[string]int{"to the top": 0, "to the bottom": len(list) - 1, "up by one position": from - 1, "down by one position": from + 1}[m[1]]
		if m[2] != "" {
			to = num(m[2]) - 1
		}
		sortTo(b, from, to)
	}, "drag-items")
	solve(func(b *bench) {
		for i := range 4 {
			list := items(b)
			least := i
			for j := i; j < len(list); j++ {
				if num(list[j]) < num(list[least]) {
					least = j
				}
			}
			if least != i {
				sortTo(b, least, i)
			}
		}
		submit(b)
	}, "drag-sort-numbers")
	solve(func(b *bench) {
		m := in(b.query(), `Drag (.+?) (to the .+|\w+ by one)\.`)
		from := slices.Index(items(b), m[0])
		to, ok := map[string]int{"to the top left": 0, "to the top center": 1, "to the top right": 2, "to the center left": 3, "to the center": 4, "to the center right": 5, "to the bottom left": 6, "to the bottom center": 7, "to the bottom right": 8}[m[1]]
		if !ok {
			to = from + map[string]int{"up by one": -3, "down by one": 3, "left by one": -1, "right by one": 1}[m[1]]
		}
		b.call("drag", args{"selector": "#sortable li", "nth": from, "to": fmt.Sprintf("#sortable li >> nth=%d", to), "to_at": []float64{20, 20}})
	}, "drag-items-grid")

	solve(func(b *bench) {
		b.clicks(fmt.Sprintf("svg circle[id=%q]", in(b.query(), `(\(-?\d,-?\d\))`)[0]))
	}, "grid-coordinate")
	solve(func(b *bench) { b.call("click", args{"selector": "#randomText", "count": 3}); submit(b) }, "highlight-text")
	solve(func(b *bench) {
		b.call("click", args{"selector": "#randomText p", "nth": nth(b.query()), "count": 3})
		submit(b)
	}, "highlight-text-2")
	solve(ticTacToe, "tic-tac-toe")

	solve(func(b *bench) {
		day := in(b.query(), `(\d+)/(\d+)/(\d+)`)
		b.clicks("#datepicker")
		pickDate(b, day)
		submit(b)
	}, "choose-date", "choose-date-easy", "choose-date-medium", "choose-date-nodelay")
	solve(func(b *bench) {
		q := b.query()
		if name := quotedIn(q); len(name) > 0 {
			b.call("scroll", args{"selector": "#text-area", "to": "bottom"})
			b.typeIn("#name", name[0])
			b.clicks(exact("#area button", name[1]))
			return
		}
		b.clicks("#cancel")
	}, "sign-agreement")
	solve(func(b *bench) {
		lines := b.read("#area")
		var minutes, prices []int
		for _, m := range regexp.MustCompile(`(\d+)h (\d+)m`).FindAllStringSubmatch(lines, -1) {
			minutes = append(minutes, num(m[1])*60+num(m[2]))
		}
		for _, m := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(lines, -1) {
			prices = append(prices, num(m[1]))
		}
		q := b.query()
		list, sign := prices, 1
		if strings.Contains(q, "duration") {
			list = minutes
		}
		if strings.Contains(q, "longest") || strings.Contains(q, "most") {
			sign = -1
		}
		best := 0
		for i := range list {
			if sign*list[i] < sign*list[best] {
				best = i
			}
		}
		b.click(args{"selector": "#area .buy-ticket", "nth": best})
	}, "buy-ticket")
	solve(bookFlight, "book-flight", "book-flight-nodelay")
	solve(func(b *bench) {
		for i, r := range digits[num(quotedIn(b.query())[0])] {
			if r == '#' {
				b.click(args{"selector": "#checkboxes input", "nth": i})
			}
		}
		submit(b)
	}, "number-checkboxes")
	solve(func(b *bench) {
		q := b.query()
		sign := map[bool]float64{true: 1, false: -1}[strings.Contains(q, "larger")]
		b.dragBy(".ui-resizable-se", 15*sign, 15*sign)
		submit(b)
	}, "resize-textarea")
	solve(func(b *bench) {
		q := b.query()
		b.clicks("#terminal")
		b.call("press", args{"key": "l s Enter"})
		lines := b.lines("#terminal-contents")
		var files []string
		for i, l := range lines {
			if l == "user$ ls" && i+1 < len(lines) {
				files = strings.Fields(lines[i+1])
			}
		}
		ext := ""
		if m := regexp.MustCompile(`extension \.?([a-z.]+?)\.?$`).FindStringSubmatch(q); m != nil && !strings.Contains(q, "no file") {
			ext = "." + m[1]
		}
		for _, f := range files {
			if ext == "" && !strings.Contains(f, ".") || ext != "" && strings.HasSuffix(f, ext) {
				b.call("press", args{"key": "r m Space " + strings.Join(strings.Split(f, ""), " ") + " Enter"})
				return
			}
		}
	}, "terminal")
	solve(func(b *bench) {
		q := b.query()
		add := func(item string, times int) {
			for range times {
				b.clicks(fmt.Sprintf("#area .food-item:has(.item-name:text-is(%q)) .add", item))
			}
		}
		if m := regexp.MustCompile(`one of each item: (.+)`).FindStringSubmatch(q); m != nil {
			for _, item := range strings.Split(m[1], ", ") {
				add(item, 1)
			}
		} else {
			m := in(q, `Order (\d+) items that are (.+)`)
			for range num(m[0]) {
				b.clicks(fmt.Sprintf("#area .food-item:has(img[alt=%q]) .add", m[1]))
			}
		}
		b.clicks("#submit-order button")
	}, "order-food")
	solve(func(b *bench) {
		limit := price(b.query())
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			if p := price(b.read("#stock-price")); p > 0 && p <= limit {
				b.clicks("#buy")
				return
			}
		}
	}, "stock-market")
	solve(func(b *bench) {
		name := in(b.query(), `Select (\w+) with`)[0]
		b.typeIn("#col", colours[name])
		b.press("Tab")
		b.call("press", args{"selector": "#subbtn", "key": "Enter"})
	}, "use-colorwheel")
	solve(func(b *bench) {
		for range 10 {
			if b.has("#sync-task-cover") {
				return
			}
			b.try("click", args{"selector": "svg circle", "nth": 0})
			b.try("click", args{"selector": "svg circle", "nth": 1})
		}
		for !b.has("#sync-task-cover") {
			time.Sleep(100 * time.Millisecond)
		}
	}, "moving-items")
}

func price(s string) float64 {
	m := regexp.MustCompile(`\$(\d+(?:\.\d+)?)`).FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	f, _ := strconv.ParseFloat(m[1], 64)
	return math.Round(f*100) / 100
}

// shape is the selector of a described shape: large ones are drawn more than half as large as the grid's cells.
func shape(what string, b *bench) string {
	words := strings.Fields(what)
	kind, size, colour := words[len(words)-1], "", ""
	for _, w := range words[:len(words)-1] {
		if w == "large" || w == "small" {
			size = w
		} else {
			colour = w
		}
	}
	big := func(tag, attribute string, sizes map[string]string) string {
		s := tag
		if colour != "" {
			s += "[fill=" + colour + "]"
		}
		if size != "" {
			s += "[" + attribute + "='" + sizes[size] + "']"
		}
		return s
	}
	text := big("text", "font-size", map[string]string{"large": "20px", "small": "10px"})
	rect := big("rect", "width", map[string]string{"large": "20", "small": "10"})
	circle := big("circle", "r", map[string]string{"large": "10", "small": "5"})
	triangle := "polygon"
	if colour != "" {
		triangle += "[fill=" + colour + "]"
	}
	if size != "" { // a triangle's size stands in its corners only
		triangle += map[string]string{"large": ":not([points*='5,'])", "small": "[points*='5,']"}[size]
	}
	switch strings.TrimSuffix(kind, "s") {
	case "circle":
		return circle
	case "rectangle":
		return rect
	case "triangle":
		return triangle
	case "letter":
		return text + ":text-matches('^[A-Za-z]$')"
	case "digit":
		return text + ":text-matches('^[0-9]$')"
	case "shape":
		return strings.Join([]string{circle, rect, triangle}, ", ")
	case "item":
		return strings.Join([]string{circle, rect, triangle, text}, ", ")
	}
	return text + fmt.Sprintf(":text-is(%q)", kind)
}

// pickDate turns jQuery's calendar to a month and takes the day.
func pickDate(b *bench, day []string) {
	want := num(day[2])*12 + num(strings.TrimLeft(day[0], "0")) - 1
	for range 40 {
		b.wait(".ui-datepicker-title")
		title := squash(b.read(".ui-datepicker-title"))
		m := regexp.MustCompile(`([A-Z][a-z]+)\W+(\d{4})`).FindStringSubmatch(title)
		if m == nil {
			panic(gaveUp{"no month in " + title})
		}
		month := slices.Index([]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}, m[1])
		now := num(m[2])*12 + month
		switch {
		case now < want:
			b.clicks(".ui-datepicker-next")
		case now > want:
			b.clicks(".ui-datepicker-prev")
		default:
			b.clicks(exact("#ui-datepicker-div a", strings.TrimLeft(day[1], "0")))
			return
		}
	}
}

func bookFlight(b *bench) {
	q := b.query()
	m := in(q, `Book the (\w+) one-way flight from: (.+) to: (.+) on (\d+)/(\d+)/(\d+)`)
	for i, s := range []string{"#flight-from", "#flight-to"} {
		b.typeIn(s, m[i+1])
		item := fmt.Sprintf(".ui-autocomplete:visible li:has-text(%q)", m[i+1])
		b.wait(item)
		b.clicks(item)
	}
	b.clicks("#datepicker")
	pickDate(b, m[3:])
	b.clicks("#search")
	b.wait("#results .flight-price")
	lines := b.read("#results")
	var minutes, prices []int
	for _, m := range regexp.MustCompile(`(\d+)h (\d+)m`).FindAllStringSubmatch(lines, -1) {
		minutes = append(minutes, num(m[1])*60+num(m[2]))
	}
	for _, m := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(lines, -1) {
		prices = append(prices, num(m[1]))
	}
	list := prices
	if m[0] == "shortest" {
		list = minutes
	}
	best := 0
	for i := range list {
		if list[i] < list[best] {
			best = i
		}
	}
	b.click(args{"selector": "#results .flight-price", "nth": best})
}

var lineups = [][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

func ticTacToe(b *bench) {
	for range 5 {
		var board [9]byte
		for i := range board {
			if b.has(fmt.Sprintf("#ttt-%d.mark-x", i)) {
				board[i] = 'x'
			} else if b.has(fmt.Sprintf("#ttt-%d.mark-o", i)) {
				board[i] = 'o'
			}
		}
		best := -1
		for _, who := range []byte{'x', 'o'} {
			for _, l := range lineups {
				n, free := 0, -1
				for _, i := range l {
					if board[i] == who {
						n++
					} else if board[i] == 0 {
						free = i
					}
				}
				if n == 2 && free >= 0 && best < 0 {
					best = free
				}
			}
		}
		for _, i := range []int{4, 0, 2, 6, 8, 1, 3, 5, 7} {
			if best < 0 && board[i] == 0 {
				best = i
			}
		}
		if best < 0 {
			return
		}
		b.clicks(fmt.Sprintf("#ttt-%d", best))
		if b.has("#sync-task-cover") {
			return
		}
	}
}

// digits are the examples on the right, row by row, four boxes each.
var digits = []string{
	".##.#..##..##..##..##..#.##.", "..#..##...#...#...#...#...#.", ".##.#..##..#..#..#..#...####", ".##.#..#...#.##....##..#.##.", "#...#.#.#.#.####..#...#...#.",
	"#####...#...###....##..#.##.", ".##.#..##...###.#..##..#.##.", "#####..#...#..#...#..#...#..", ".##.#..##..#.##.#..##..#.##.", ".##.#..##..#.###...##..#.##.",
}

var colours = map[string]string{"red": "ff0000", "blue": "0000ff", "olive": "808000", "lime": "00ff00", "black": "000000", "white": "ffffff", "grey": "808080", "gray": "808080", "purple": "800080", "orange": "ffa500", "yellow": "ffff00", "cyan": "00ffff", "pink": "ffc0cb", "magenta": "ff00ff", "green": "008000", "maroon": "800000", "navy": "000080", "teal": "008080", "silver": "c0c0c0", "aqua": "00ffff", "fuchsia": "ff00ff", "brown": "a52a2a"}
