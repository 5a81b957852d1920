// Render what arithmatex marked, on the first page and after each instant navigation.
document$.subscribe(() => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const source = element.textContent.trim();
    const formula = source.slice(2, -2); // within \(...\) or \[...\]
    katex.render(formula, element, { displayMode: source.startsWith("\\["), throwOnError: false });
  }
});
