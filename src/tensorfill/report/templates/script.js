"use strict";
(function () {
  var data = JSON.parse(document.getElementById("data").textContent);
  var by = function (id) { return document.getElementById(id); };
  var palette = data.palette.map(bytesOf), missing = bytesOf(data.missing);
  var view = data.views[0], place = 0, asked = 0, levels = [];

  function bytesOf(hex) {
    return [1, 3, 5].map(function (start) { return parseInt(hex.slice(start, start + 2), 16); });
  }

  function decoded(address) {
    return new Promise(function (resolve, reject) {
      var image = new Image();
      image.onload = function () { resolve(image); };
      image.onerror = reject;
      image.src = address;
    });
  }

  // The red of a grey picture is its level: 0 is missing, 1 to 255 are values, each with a colour of the palette.
  function draw(canvas, image, coloured) {
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    var context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    if (coloured) { return null; }
    var pixels = context.getImageData(0, 0, canvas.width, canvas.height);
    var own = new Uint8Array(canvas.width * canvas.height);
    for (var at = 0; at < own.length; at += 1) {
      own[at] = pixels.data[4 * at];
      var colour = own[at] === 0 ? missing : palette[own[at] - 1];
      pixels.data.set(colour, 4 * at);
    }
    context.putImageData(pixels, 0, 0);
    return own;
  }

  function show() {
    var slice = view.slices[place], mine = asked += 1;
    by("slice-title").textContent = slice.title;
    by("count").textContent = (place + 1) + " of " + view.slices.length;
    by("position").setAttribute("aria-valuetext", slice.title);
    by("before").disabled = place === 0;
    by("after").disabled = place === view.slices.length - 1;
    Promise.all(slice.images.map(decoded)).then(function (images) {
      // A slider moves faster than pictures are decoded: only the last one asked for is drawn.
      if (mine !== asked) { return; }
      var canvases = by("panels").querySelectorAll("canvas");
      levels = images.map(function (image, number) { return draw(canvases[number], image, view.colour); });
      by("panels").dataset.drawn = view.name + "/" + place;
    });
  }

  function choose(number) {
    view = data.views[number];
    place = view.start;
    by("panels").replaceChildren.apply(by("panels"), view.panels.map(panel));
    by("position").max = view.slices.length - 1;
    by("position").value = place;
    by("slider").hidden = view.slices.length < 2;
    by("slice-title").hidden = view.slices[0].title === "";
    by("scale").hidden = view.colour;
    by("note").textContent = view.note;
    forget();
    show();
  }

  function panel(title, number) {
    var figure = document.createElement("figure"), caption = document.createElement("figcaption");
    var canvas = document.createElement("canvas");
    caption.textContent = title;
    canvas.style.aspectRatio = 1 / view.ratio;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", title);
    canvas.addEventListener("pointermove", point);
    canvas.addEventListener("pointerdown", point);
    canvas.addEventListener("pointerleave", forget);
    figure.append(caption, canvas);
    return figure;
  }

  function point(event) {
    var box = event.currentTarget.getBoundingClientRect();
    var row = Math.floor((event.clientY - box.top) / box.height * view.rows);
    var column = Math.floor((event.clientX - box.left) / box.width * view.columns);
    if (row < 0 || column < 0 || row >= view.rows || column >= view.columns) { return; }
    var words = view.rowMode + " " + view.rowLabels[row] + ", " + view.columnMode + " " + view.columnLabels[column];
    view.panels.forEach(function (title, number) {
      if (!levels[number]) { return; }
      var level = levels[number][row * view.columns + column];
      words += "; " + title.toLowerCase() + " " + (level === 0 ? "missing" : "about " + value(level));
    });
    by("pointed").textContent = words;
  }

  function value(level) {
    return Number((data.lowest + (level - 1) / 254 * (data.highest - data.lowest)).toPrecision(3)).toString();
  }

  function forget() {
    by("pointed").textContent = "Down: " + view.rowMode + ". Across: " + view.columnMode + ". " +
      (view.colour ? "Missing entries are grey." : "Point at an entry for its value.");
  }

  function move(to) {
    place = Math.min(Math.max(to, 0), view.slices.length - 1);
    by("position").value = place;
    show();
  }

  function copy(event) {
    var button = event.currentTarget, code = by(button.dataset.for);
    var done = function () {
      button.textContent = "Copied";
      setTimeout(function () { button.textContent = "Copy"; }, 1500);
    };
    var select = function () { window.getSelection().selectAllChildren(code); };
    if (navigator.clipboard) { navigator.clipboard.writeText(code.textContent).then(done, select); } else { select(); }
  }

  data.views.forEach(function (each, number) { by("view").add(new Option(each.name, number)); });
  by("view-label").hidden = data.views.length < 2;
  by("controls").hidden = data.views.length < 2 && view.slices.length < 2;
  by("view").addEventListener("change", function () { choose(Number(by("view").value)); });
  by("position").addEventListener("input", function () { move(Number(by("position").value)); });
  by("before").addEventListener("click", function () { move(place - 1); });
  by("after").addEventListener("click", function () { move(place + 1); });
  document.querySelectorAll(".copy").forEach(function (button) { button.addEventListener("click", copy); });
  var stops = data.palette.filter(function (colour, number) { return number % 32 === 0 || number === 254; });
  by("bar").style.background = "linear-gradient(to right, " + stops.join(", ") + ")";
  by("swatch").style.background = data.missing;
  by("value").textContent = data.value;
  by("low").textContent = data.low;
  by("high").textContent = data.high;
  choose(0);
}());
