// Keys that are pressed in a widget are not to move or delete the cells of the notebook too.

const MOVING_KEYS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End", " ", "Enter"]);

/** Keys that scroll, unfold or press. */
function moves(event) {
  return MOVING_KEYS.has(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
}

/**
 * Keep keys pressed in `root` from the shortcuts of the page: those for which `keeps(event)` is true. Returns the undoing.
 *
 * The page matches its shortcuts from the very element that has the focus, some front ends before any listener of ours
 * but one on the window: so the mark stands on that element, and is put there first of all.
 */
function keepKeys(root, keeps) {
  const press = (event) => root.contains(event.target) && event.target.toggleAttribute("data-lm-suppress-shortcuts", keeps(event));
  window.addEventListener("keydown", press, true);
  return () => window.removeEventListener("keydown", press, true);
}
