/** The chat's page: hands what the extension sends to the part that shows it. */

import type { ToPage } from "../messages";
import * as announce from "./announce";
import * as composer from "./composer";
import * as elsewhere from "./elsewhere";
import * as footer from "./footer";
import { post, remember } from "./host";
import "./links";
import * as list from "./list";
import * as queue from "./queue";
import * as symbols from "./symbols";
import * as todo from "./todo";
import * as welcome from "./welcome";
import * as work from "./work";

window.addEventListener("message", (event: MessageEvent<ToPage>) => {
  const message = event.data;
  switch (message.type) {
    case "all":
      return list.replaceAll(message.items);
    case "item":
      announce.noteItem(message.item);
      return list.put(message.item);
    case "append":
      return list.append(message.id, message.markdown);
    case "state":
      announce.showState(message.state);
      composer.showState(message.state);
      welcome.showState(message.state);
      elsewhere.showState(message.state);
      symbols.showState(message.state);
      queue.showState(message.state);
      todo.showState(message.state);
      work.showState(message.state);
      return footer.showState(message.state);
    case "restoreUnsent":
      return composer.restoreUnsent(message.text);
    case "settled":
      return composer.settled(message.ids);
    case "draft":
      return composer.takeOver(message.text);
    case "conversation":
      return remember({ conversation: message.id });
    case "composer":
      return composer.showComposer(message.state);
    case "history":
      return composer.showHistory(message.prompts);
    case "paths":
      return composer.showPaths(message);
    case "values":
      return composer.showValues(message.request, message.values);
    case "symbols":
      return symbols.showSymbols(message.asked, message.found);
    case "loadPicture":
      return composer.loadPicture(message.mimeType, message.data);
    case "focus":
      return composer.focus();
  }
});

post({ type: "ready", unsettled: composer.unsettled() });
composer.tellDraft();
